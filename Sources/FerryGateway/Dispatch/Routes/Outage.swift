internal import NIOCore

/// The outage of an upstream that answers every notification with a server's fault, such as 503.
///
/// During an outage, notifications are sent again until APNs accepts them. Without this alarm, the operator would not
/// learn why nothing arrives.
struct Outage: Sendable {
    private enum State {
        case none
        case suspected(since: NIODeadline)
        case known
    }

    /// The time with nothing but faults after which an outage is reported.
    static let patience: TimeAmount = .seconds(10)

    private var state = State.none

    /// Whether an outage is known.
    var isOn: Bool { if case .known = self.state { true } else { false } }

    /// Notes a server's fault. Returns whether it makes an outage known.
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

    /// Notes any other answer of APNs. Returns whether it ends a known outage.
    mutating func answered() -> Bool {
        defer { self.state = .none }
        return if case .known = self.state { true } else { false }
    }
}
