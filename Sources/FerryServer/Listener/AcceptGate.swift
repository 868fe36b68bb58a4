/// A machine without I/O that decides when a listener accepts, and which connections it serves. At most `limit` are served
/// at a time.
///
/// ```
///            accepted while `limit`                wantsToAccept
///    ┌──────┐  are served          ┌─────────┐ ───────────────────────▶ ┌─────────┐
///    │ open │ ───────────────────▶ │ holding │                          │ waiting │
///    └──────┘                      └─────────┘                          └─────────┘
///        ▲   closed, heldLeft           │                                    │
///        └──────────────────────────────┴────────────────────────────────────┘
/// ```
///
/// A listener cannot see whether a connection waits in the system's queue. So one connection more than `limit` is
/// accepted, and held unread. It shows that a connection wants a place.
///
/// SwiftNIO asks before every accept, and asks only once. So the gate remembers a refused request and grants it when no
/// connection is held any more. Without that, the listener would never accept again.
struct AcceptGate {
    private enum State {
        /// Every requested accept was granted.
        case open
        /// A connection is held.
        case holding
        /// A connection is held, and an accept was refused.
        case waiting
    }

    /// The place of a connection that was accepted.
    enum Place: Hashable {
        case served
        case held
    }

    /// The work of the owner after a connection has closed.
    enum Action: Hashable {
        case none
        /// Serve the connection that is held. Then accept another one, if an accept was refused.
        case serveHeld(accepts: Bool)
    }

    /// The largest number of served connections, at least 1. A new lower limit closes no connection. The next
    /// connection is then held until enough others have closed.
    var limit: Int
    private var state = State.open
    /// The number of connections that are served.
    private(set) var connections = 0

    /// - Parameter limit: at least 1.
    init(limit: Int) {
        self.limit = limit
    }

    /// Returns whether a connection may be accepted now. If not, a connection may be accepted when no connection is
    /// held any more.
    mutating func wantsToAccept() -> Bool {
        if case .open = self.state { return true }
        self.state = .waiting
        return false
    }

    /// Returns the place of a connection that was accepted.
    mutating func accepted() -> Place {
        guard case .open = self.state, self.connections >= self.limit else {
            self.connections += 1
            return .served
        }
        self.state = .holding
        return .held
    }

    /// Removes a connection that was served and has closed.
    mutating func closed() -> Action {
        self.connections -= 1
        if case .open = self.state { return .none }
        // The limit may have become lower.
        guard self.connections < self.limit else { return .none }
        self.connections += 1
        return .serveHeld(accepts: self.heldLeft())
    }

    /// Notes that no connection is held any more. Returns whether to accept another one.
    mutating func heldLeft() -> Bool {
        defer { self.state = .open }
        if case .waiting = self.state { return true }
        return false
    }
}
