/// A machine without I/O. It decides when a listener accepts, and which connections the listener serves. At most
/// `limit` connections are served at a time.
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
/// While a listener does not accept, the system does not report connections in its queue. So one connection more than
/// `limit` is accepted, and held unread. The held connection shows that a client waits.
///
/// SwiftNIO asks once before every accept. So the gate remembers a refused request, and grants the request when no
/// connection is held any more. Without this memory, the listener would never accept again.
struct AcceptGate {
    private enum State {
        /// No connection is held, and every requested accept was granted.
        case open
        /// A connection is held.
        case holding
        /// A connection is held, and an accept was refused.
        case waiting
    }

    /// The state of an accepted connection: served, or held unread until a served connection closes.
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

    /// Returns whether a connection may be accepted now. If the result is false, ``closed()`` or ``heldLeft()`` later
    /// asks the owner to accept.
    mutating func wantsToAccept() -> Bool {
        if case .open = self.state { return true }
        self.state = .waiting
        return false
    }

    /// Returns whether a connection that was accepted is served or held.
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

    /// Notes that no connection is held any more. Returns whether to accept another connection.
    mutating func heldLeft() -> Bool {
        defer { self.state = .open }
        if case .waiting = self.state { return true }
        return false
    }
}
