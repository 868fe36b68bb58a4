package import FerryCore
package import NIOCore

/// The new connections of a provider: their numbers, and ``DialLimiter``.
///
/// The machines of several event loops share one register, because Apple counts the connections of a provider, not
/// those of a loop. Any thread may use it.
package final class DialRegister: Sendable {
    /// The answer to a machine that wants a connection.
    package enum Answer {
        /// The connection may be made now, with this number.
        case granted(ConnectionID)
        /// The connection may not be made before this time.
        case later(NIODeadline)
    }

    private struct State {
        var limiter = DialLimiter()
        var lastID: UInt64 = 0
    }

    private let state = Locked(State())

    package init() {}

    /// Asks for a new connection. Numbers rise, beginning with 1.
    package func request(now: NIODeadline) -> Answer {
        self.state.withLock { state in
            if let later = state.limiter.take(now: now) { return .later(later) }
            state.lastID += 1
            return .granted(ConnectionID(state.lastID))
        }
    }
}
