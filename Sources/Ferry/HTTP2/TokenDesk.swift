internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// Gets provider tokens for one driver, from a source that several drivers may share.
///
/// Belongs to the driver's event loop.
struct TokenDesk {
    /// The result of an ask, and the event to report, if any.
    struct Answer {
        var authorization: Authorization
        var event: ProviderEvent?
    }

    /// A token that is used without an ask, until that time, or until the source has changed. The clock is the one that
    /// also runs while the computer sleeps.
    private struct Kept {
        var authorization: Authorization
        var changes: Int
        var until: NIODeadline
    }

    /// How long a token is used without an ask. A token lives for 50 minutes, and an ask costs more than the write of a
    /// request.
    private static let keeps: TimeAmount = .milliseconds(100)

    private let source: ProviderTokenSource
    private var kept: Kept?
    /// The number of replaced keys at the last ask.
    private var replacements = 0
    /// Whether the last ask failed. The failure is reported once, not at every ask.
    private var lacksToken = false

    init(_ source: ProviderTokenSource) {
        self.source = source
    }

    /// Whether the key was replaced since the last ask. Cheap.
    var isKeyReplaced: Bool { self.source.replacementCount != self.replacements }

    /// Gets a valid token. Signs one if necessary: about 30 µs.
    mutating func ask(now: Moment) -> Answer {
        let changes = self.source.changeCount
        if let kept, kept.changes == changes, now.boot < kept.until, !self.isKeyReplaced {
            return Answer(authorization: kept.authorization)
        }
        self.kept = nil
        self.replacements = self.source.replacementCount
        let authorization = self.source.authorization(now: now.monotonic, epochSeconds: now.epochSeconds)
        guard case .held = authorization, let failure = self.source.failure else {
            self.lacksToken = false
            if case .token = authorization {
                self.kept = Kept(authorization: authorization, changes: changes, until: now.boot + Self.keeps)
            }
            return Answer(authorization: authorization)
        }
        defer { self.lacksToken = true }
        guard !self.lacksToken else { return Answer(authorization: authorization) }
        let message = "Nothing is sent for want of a provider token: \(failure)"
        let error = ProviderError(.noProviderToken, message, cause: failure)
        return Answer(authorization: authorization, event: .error(error))
    }

    /// Passes on that APNs refused a token.
    func refused(_ reason: Reason, _ token: ProviderToken, now: Moment) {
        self.source.refused(reason, token, now: now.monotonic)
    }
}
