internal import NIOCore

extension HTTP2Connection {
    /// The state of a connection, from its first request to its end.
    ///
    /// ```
    ///         GOAWAY, silence,           nothing is             all is
    ///         nothing to do              under way              written
    ///   open ────────────────▶ leaving ────────────▶ lingering ─────────▶ finished
    ///    │                        │                      │                 ▲    │
    ///    │                        │                      │                 │    │
    ///    ├────────────────────────┴──────────────────────┴ session is over ┘    │
    ///    │                        │                      │                      │
    ///    └────────────────────────┴──────────────────────┴─── it is gone ───────┴──▶ ended
    /// ```
    enum State: ~Copyable {
        /// The connection takes requests.
        case open
        /// The connection takes no new requests, and those under way are still answered. Our own GOAWAY, if it is owed,
        /// waits until then: SETTINGS may hold requests back in the session, and between a GOAWAY and the next SETTINGS
        /// the session drops them.
        case leaving(owesGoAway: Bool)
        /// Nothing is under way. If the rest is not written by that time, the connection is closed.
        case lingering(until: NIODeadline)
        /// The owner was asked to end the connection. If it is not gone by that time, it is closed.
        case finished(until: NIODeadline)
        /// The connection is gone, and its requests are taken back.
        case ended(wasFinished: Bool)

        /// How long a connection may take to write the rest, and then how long to end.
        static let lingerLimit: TimeAmount = .seconds(5)

        /// Whether the connection takes no new requests.
        var isLeaving: Bool {
            switch self {
            case .open: false
            default: true
            }
        }

        /// Whether the owner was asked to end the connection.
        var isFinished: Bool {
            switch self {
            case .finished: true
            case .ended(let wasFinished): wasFinished
            default: false
            }
        }

        /// Whether the connection is gone.
        var isEnded: Bool {
            switch self {
            case .ended: true
            default: false
            }
        }

        /// Whether the peer has closed the connection, or said that it will when everything is answered.
        var isClosedByPeer: Bool {
            switch self {
            case .leaving(let owesGoAway): !owesGoAway
            case .ended(let wasFinished): !wasFinished
            default: false
            }
        }

        /// When the connection is closed if it is still there; nil when its state sets no time.
        var closesAt: NIODeadline? {
            switch self {
            case .lingering(let until): until
            case .finished(let until): until
            default: nil
            }
        }

        /// Stops new requests from now on.
        ///
        /// - Parameter owesGoAway: whether the client must send a GOAWAY. After the peer's own GOAWAY it need not.
        mutating func leave(owesGoAway: Bool) {
            switch consume self {
            case .open: self = .leaving(owesGoAway: owesGoAway)
            case let state: self = state
            }
        }

        enum DrainAction {
            case nothing
            case sayGoAway
        }

        /// Notes that nothing is under way.
        mutating func drained(now: NIODeadline) -> DrainAction {
            switch consume self {
            case .leaving(let owesGoAway):
                self = .lingering(until: now + Self.lingerLimit)
                return owesGoAway ? .sayGoAway : .nothing
            case let state:
                self = state
                return .nothing
            }
        }

        enum FinishAction {
            case nothing
            /// No more bytes follow, so close after the written bytes.
            case finish
        }

        /// Notes that nothing is under way and all is written.
        mutating func written(now: NIODeadline) -> FinishAction {
            switch consume self {
            case .lingering:
                self = .finished(until: now + Self.lingerLimit)
                return .finish
            case let state:
                self = state
                return .nothing
            }
        }

        /// Notes that the session neither reads nor writes any more.
        mutating func sessionIsOver(now: NIODeadline) -> FinishAction {
            switch consume self {
            case .finished(let until):
                self = .finished(until: until)
                return .nothing
            case .ended(let wasFinished):
                self = .ended(wasFinished: wasFinished)
                return .nothing
            default:
                self = .finished(until: now + Self.lingerLimit)
                return .finish
            }
        }

        /// Notes that the connection is gone.
        mutating func end() { self = .ended(wasFinished: self.isFinished) }
    }
}
