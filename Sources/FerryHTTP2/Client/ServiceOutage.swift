internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// A stop for sending while no connection does any work. Each answers with server errors (5xx) or refuses every stream.
///
/// ```
///        a connection is useless           a newer one is useless, too
///   none ───────────────────────▶ suspected ─────────────────────────▶ waiting ◀──┐
///    ▲                               │                                  │         │ another error
///    │                               │                     back-off over│         │ or refusal
///    │                               │                                  ▼         │
///    └────────── an answer ──────────┴─────────── an answer ────────── trying ────┘
/// ```
///
/// A connection that the peer closes after an error or a refusal, before it did any work, is fruitless. Five of them in a row
/// lead from none or suspected to waiting.
struct ServiceOutage {
    private enum State {
        /// The number of fruitless connections in a row.
        case none(fruitless: Int)
        /// A connection was left. Connections after the one with this number have few requests until one brings an answer.
        case suspected(after: UInt64, fruitless: Int)
        /// Nothing is sent until that time.
        case waiting(until: NIODeadline)
        /// One request is under way at a time.
        case trying
    }

    /// The number of fruitless connections in a row that is an outage.
    static let fruitlessLimit = 5

    private var state = State.none(fruitless: 0)
    private var pauses: BackOff

    /// - Parameter pauses: the first and the longest pause.
    init(pauses: ClosedRange<Duration>) {
        self.pauses = BackOff(pauses)
    }

    /// Whether sending has stopped.
    var isOn: Bool {
        switch self.state {
        case .none, .suspected: false
        case .waiting, .trying: true
        }
    }

    /// Whether any number of requests may be written.
    var isNone: Bool { if case .none = self.state { true } else { false } }

    /// Whether the last connection was fruitless.
    var hasFruitless: Bool {
        switch self.state {
        case .none(let count), .suspected(_, let count): count > 0
        case .waiting, .trying: false
        }
    }

    /// When sending is tried again; nil if no time is set.
    var deadline: NIODeadline? { if case .waiting(let until) = self.state { until } else { nil } }

    /// Whether a connection would be useless now.
    var isWaiting: Bool { self.deadline != nil }

    /// The number of requests that may be written now on a connection; nil for any number.
    ///
    /// - Parameters:
    ///   - underWay: the number of requests under way on it, and of those that failed in a row.
    ///   - allUnderWay: the number on all connections that take requests.
    func allowance(on id: ConnectionID, underWay: Int, allUnderWay: @autoclosure () -> Int) -> Int? {
        switch self.state {
        case .none: nil
        case .suspected(let last, _): id.rawValue > last ? max(Conduct.limit - underWay, 0) : nil
        case .waiting: 0
        case .trying: max(1 - allUnderWay(), 0)
        }
    }

    /// Ends a pause whose time is over.
    mutating func tick(now: NIODeadline) {
        if case .waiting(let until) = self.state, until <= now { self.state = .trying }
    }

    /// Notes an answer other than a server error, on a connection that is of use.
    mutating func served(on id: ConnectionID) {
        switch self.state {
        case .none: self.state = .none(fruitless: 0)
        // An older connection proves nothing about newer ones.
        case .suspected(let last, _) where id.rawValue <= last: break
        case .suspected, .waiting, .trying:
            self.state = .none(fruitless: 0)
            self.pauses.reset()
        }
    }

    /// Whether a connection is left after one error or refusal, because sending is only tried.
    var isTrying: Bool { if case .trying = self.state { true } else { false } }

    enum UselessAction {
        case nothing
        /// Report that sending stops.
        case report
    }

    /// Notes that a connection is useless or fruitless.
    ///
    /// - Parameter newest: the number of the newest connection.
    mutating func found(
        _ id: ConnectionID,
        isUseless: Bool,
        newest: UInt64,
        now: NIODeadline,
        using generator: inout SplitMix64
    ) -> UselessAction {
        switch self.state {
        case .none(let count) where !isUseless && count + 1 < Self.fruitlessLimit:
            self.state = .none(fruitless: count + 1)
            return .nothing
        case .none where isUseless:
            self.state = .suspected(after: newest, fruitless: 0)
            return .nothing
        case .suspected(let last, _) where id.rawValue <= last:
            return .nothing
        case .suspected(let last, let count) where !isUseless && count + 1 < Self.fruitlessLimit:
            self.state = .suspected(after: last, fruitless: count + 1)
            return .nothing
        case .none, .suspected:
            self.state = .waiting(until: now + self.pauses.fail(using: &generator))
            return .report
        case .trying:
            self.state = .waiting(until: now + self.pauses.fail(using: &generator))
            return .nothing
        case .waiting:
            return .nothing
        }
    }
}
