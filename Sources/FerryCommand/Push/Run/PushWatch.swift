internal import Ferry
internal import FerryCore
internal import FerryHTTP2

/// Follows the events of a provider. Safe from any thread.
final class PushWatch: Sendable {
    /// How long people wait for the first connection without a message. By default the attempts go on for 30 s.
    private static let patience: Duration = .seconds(1)

    private let begin = ContinuousClock.now
    private let stop: PushStop
    /// Receives contradictions. Nil without an events file.
    private let ledger: LineLedger?
    /// Whether the provider goes on over another protocol after an error.
    private let hasFallback: Bool
    /// Receives most events, in words. Nil: they are not reported.
    private let say: (@Sendable (String) -> Void)?
    /// Receives messages that people must see in any case.
    private let warn: @Sendable (String) -> Void
    private let state = Locked(State())

    private struct State {
        var window: Int?
        var connection = Connection.none
        /// The number of outcomes that turned out wrong.
        var contradicted = 0
        var refusal: Rejection?
        /// The reason why nothing could be sent for a while: a missing provider token.
        var lack: ProviderError?
        /// Whether the pause was reported.
        var hasPaused = false
        /// Whether people were told that there is no connection yet.
        var hasWarned = false
    }

    /// The result of connecting.
    enum Connection: Sendable {
        /// No result yet.
        case none
        /// All attempts failed. The error is the last.
        case failed(ProviderError)
        case made

        var isMade: Bool { if case .made = self { true } else { false } }
    }

    init(
        stop: PushStop,
        ledger: LineLedger?,
        hasFallback: Bool = false,
        say: (@Sendable (String) -> Void)?,
        warn: @escaping @Sendable (String) -> Void
    ) {
        self.stop = stop
        self.ledger = ledger
        self.hasFallback = hasFallback
        self.say = say
        self.warn = warn
    }

    /// The limit of unsettled notifications. Nil until it is limited.
    var window: Int? { self.state.withLock { $0.window } }

    var connection: Connection { self.state.withLock { $0.connection } }

    /// The number of outcomes that turned out wrong, according to the events. Events may be lost; a report is exact.
    var contradicted: Int { self.state.withLock { $0.contradicted } }

    /// The last rejection that concerned the provider's credentials: status 403 of APNs, but not the reason
    /// Forbidden.
    var refusal: Rejection? { self.state.withLock { $0.refusal } }

    /// The reason why there was no provider token for a while. Nil if there always was one.
    var lack: ProviderError? { self.state.withLock { $0.lack } }

    func note(_ event: ProviderEvent) {
        switch event {
        case .connected(let id, let open):
            self.state.withLock { $0.connection = .made }
            self.say?("\(id) is open, of \(open)")
        case .disconnected(let id, let open):
            self.say?("\(id) is closed, \(open) are open")
        case .socketError(_, let error):
            let isLong = ContinuousClock.now - self.begin >= Self.patience
            let isNews = self.state.withLock { state in
                guard !state.connection.isMade else { return false }
                state.connection = .failed(error)
                defer { if isLong { state.hasWarned = true } }
                return isLong && !state.hasWarned
            }
            if let say {
                say(error.message)
            } else if isNews, !error.isLasting, !self.stop.isSet {
                self.warn("ferry: \(error.message) It is tried again.")
            }
        case .error(let error) where error.code == .tooManyRejections:
            // Sending pauses and then continues. Rejected notifications have their outcomes.
            let isFirst = self.state.withLock { state in
                defer { state.hasPaused = true }
                return !state.hasPaused
            }
            if let say { say(error.message) } else if isFirst { self.warn("ferry: \(error.message)") }
        case .error(let error) where error.code == .noProviderToken:
            // Another program makes the tokens, so the next token may only be late.
            self.state.withLock { $0.lack = error }
            if !self.stop.isSet { self.warn("ferry: \(error.message)") }
        case .error(let error):
            if self.hasFallback { self.warn("ferry: \(error.message)") } else { self.stop.fail(error) }
        case .migration(.down), .migration(.up), .migration(.waiting):
            self.warn("ferry: \(event)")
        case .migration(.gone):
            // The rejection behind this event was reported already.
            break
        case .migration(let event):
            self.say?("\(event)")
        case .contradicted(let contradiction):
            self.state.withLock { $0.contradicted += contradiction.count }
            self.ledger?.publish(contradiction)
            self.say?("\(contradiction.count) outcomes turned out wrong")
        case .windowAdjusted(let window):
            self.state.withLock { $0.window = window }
        case .cacheTooSmall(let by):
            self.say?("the cache was too small by \(by)")
        case .resent(let count, _):
            self.say?("\(count) are sent again")
        case .transmissionError(let rejection, _, _, _):
            if rejection.isOfCredentials { self.state.withLock { $0.refusal = rejection } }
            self.say?("one was rejected: \(rejection.reason)")
        case .requestReset(_, let errorCode, _):
            self.say?("one was reset: \(errorCode)")
        case .dropped(let count):
            self.say?("\(count) events came too fast to be looked at")
        default:
            break
        }
    }
}

extension Rejection {
    /// Whether APNs refused the provider rather than the notification.
    fileprivate var isOfCredentials: Bool {
        self.origin == .apns && self.status == HTTPStatus.forbidden.rawValue && self.reason != .forbidden
    }
}
