/// A machine without I/O that decides when a listener accepts. At most `limit` connections are open at a time.
///
/// ```
///                 wantsToAccept while `limit` are open
///    ┌──────┐ ───────────────────────────────────────▶ ┌─────────┐
///    │ open │                                          │ waiting │
///    └──────┘ ◀─────────────────────────────────────── └─────────┘
///                 closed
/// ```
///
/// SwiftNIO asks before every accept, and asks only once. So the gate remembers a refused request and grants it when a
/// connection closes. Without that, the listener would never accept again.
struct AcceptGate {
    private enum State {
        /// Every requested accept was granted.
        case open
        /// An accept was requested while `limit` connections were open.
        case waiting
    }

    /// The action of the owner after a connection has closed.
    enum Action: Hashable {
        case none
        /// Accept a connection: an earlier request was refused.
        case accept
    }

    private let limit: Int
    private var state = State.open
    /// The number of open connections.
    private(set) var connections = 0

    /// - Parameter limit: at least 1.
    init(limit: Int) {
        self.limit = limit
    }

    /// Returns whether a connection may be accepted now. If not, a later ``closed()`` returns ``Action/accept``.
    mutating func wantsToAccept() -> Bool {
        self.state = self.connections < self.limit ? .open : .waiting
        return self.state == .open
    }

    /// Counts a connection that was accepted.
    mutating func accepted() {
        self.connections += 1
    }

    /// Removes an accepted connection that has closed.
    mutating func closed() -> Action {
        self.connections -= 1
        guard self.state == .waiting, self.connections < self.limit else { return .none }
        self.state = .open
        return .accept
    }
}
