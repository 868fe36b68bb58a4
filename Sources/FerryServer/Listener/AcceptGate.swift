/// Decides when a listener accepts, without I/O: at most `limit` connections are open at a time.
///
/// ```
///                 wantsToAccept while `limit` are open
///    ┌──────┐ ───────────────────────────────────────▶ ┌─────────┐
///    │ open │                                          │ waiting │
///    └──────┘ ◀─────────────────────────────────────── └─────────┘
///                 closed
/// ```
///
/// SwiftNIO asks before every accept. A request that is not granted must be made good when there is room again: nobody
/// asks a second time.
struct AcceptGate {
    private enum State {
        /// Every accept that was asked for so far was granted.
        case open
        /// An accept was asked for, and there was no room.
        case waiting
    }

    /// What the owner does after a connection has closed.
    enum Action: Hashable {
        case none
        /// Accept the connection that an earlier request was for.
        case accept
    }

    private let limit: Int
    private var state = State.open
    /// Connections that are open.
    private(set) var connections = 0

    /// - Parameter limit: at least 1.
    init(limit: Int) {
        self.limit = limit
    }

    /// Whether a connection may be accepted now. If not, ``closed()`` will say when.
    mutating func wantsToAccept() -> Bool {
        self.state = self.connections < self.limit ? .open : .waiting
        return self.state == .open
    }

    /// A connection was accepted.
    mutating func accepted() {
        self.connections += 1
    }

    /// A connection that was accepted has closed.
    mutating func closed() -> Action {
        self.connections -= 1
        guard self.state == .waiting, self.connections < self.limit else { return .none }
        self.state = .open
        return .accept
    }
}
