internal import NIOCore

/// A check by PING whether a quiet peer is still there.
///
/// ```
///          quiet for the interval: ping              no answer in time
///   idle ───────────────────────────────▶ awaiting ────────────────────▶ overdue
///    ▲                                       │                            │
///    └──────────────── answer ───────────────┴──── answer after all ──────┘
/// ```
///
/// Source: RFC 9113, section 6.7.
struct PingMachine {
    private enum State {
        /// The last bytes arrived or were written at that time.
        case idle(since: NIODeadline)
        /// A PING was sent. Its answer is due at that time.
        case awaiting(until: NIODeadline)
        /// The answer did not come in time: the connection is dead.
        case overdue
    }

    /// How long the answer to a PING may take.
    static let limit: TimeAmount = .seconds(10)

    private let interval: TimeAmount
    private var state: State

    /// - Parameter interval: how long a connection may be quiet before a PING.
    init(interval: TimeAmount, now: NIODeadline) {
        self.interval = interval
        self.state = .idle(since: now)
    }

    /// When ``tick(now:)`` is due.
    var deadline: NIODeadline? {
        switch self.state {
        case .idle(let since): since + self.interval
        case .awaiting(let until): until
        case .overdue: nil
        }
    }

    /// Notes that bytes arrived or were written. They do not answer a PING.
    mutating func used(now: NIODeadline) {
        if case .idle = self.state { self.state = .idle(since: now) }
    }

    /// Notes the answer to a PING.
    mutating func answered(now: NIODeadline) { self.state = .idle(since: now) }

    enum TickAction {
        case nothing
        /// Send a PING.
        case ping
        /// Drop the connection: it is dead.
        case drop
    }

    /// Returns the action that is due, if any.
    mutating func tick(now: NIODeadline) -> TickAction {
        switch self.state {
        case .idle(let since) where since + self.interval <= now:
            self.state = .awaiting(until: now + Self.limit)
            return .ping
        case .awaiting(let until) where until <= now:
            self.state = .overdue
            return .drop
        case .idle, .awaiting, .overdue:
            return .nothing
        }
    }
}
