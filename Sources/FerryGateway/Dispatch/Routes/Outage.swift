internal import NIOCore

/// Whether an upstream answers, but takes nothing: each notification gets a server's fault, such as 503.
///
/// Notifications then go out again until APNs takes them, and nobody would know why nothing arrives.
struct Outage: Sendable {
    private enum State {
        case none
        case suspected(since: NIODeadline)
        case known
    }

    /// How long nothing but faults makes an outage.
    static let patience: TimeAmount = .seconds(10)

    private var state = State.none

    /// Notes a server's fault. Returns whether the outage is known now, and was not before.
    mutating func failed(now: NIODeadline) -> Bool {
        switch self.state {
        case .none:
            self.state = .suspected(since: now)
            return false
        case .suspected(let since):
            guard since + Self.patience <= now else { return false }
            self.state = .known
            return true
        case .known:
            return false
        }
    }

    /// Notes any other answer of APNs. Returns whether a known outage ends.
    mutating func answered() -> Bool {
        defer { self.state = .none }
        return if case .known = self.state { true } else { false }
    }
}
