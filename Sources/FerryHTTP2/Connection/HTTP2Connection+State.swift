internal import NIOCore

extension HTTP2Connection {
    /// How far a connection is on its way to its end.
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
        /// It takes requests.
        case open
        /// It takes no new requests, and those under way are still answered. The own GOAWAY, if it is owed, waits for that:
        /// SETTINGS may hold requests back in the session, and between a GOAWAY and the next SETTINGS the session drops
        /// them.
        case leaving(owesGoAway: Bool)
        /// Nothing is under way. If the rest is not written until then, the connection is closed.
        case lingering(until: NIODeadline)
        /// The owner was asked to end it. If it is still there then, it is closed.
        case finished(until: NIODeadline)
        /// It is gone, and its requests are taken back.
        case ended(wasFinished: Bool)

        /// How long a connection may take to write the rest, and how long to end.
        static let lingerLimit: TimeAmount = .seconds(5)

        /// Whether it takes no new requests.
        var isLeaving: Bool {
            switch self {
            case .open: false
            default: true
            }
        }

        /// Whether its end was asked for.
        var isFinished: Bool {
            switch self {
            case .finished: true
            case .ended(let wasFinished): wasFinished
            default: false
            }
        }

        /// Whether it is gone.
        var isEnded: Bool {
            switch self {
            case .ended: true
            default: false
            }
        }

        /// When it is closed if it is still there; nil: not for its state.
        var closesAt: NIODeadline? {
            switch self {
            case .lingering(let until): until
            case .finished(let until): until
            default: nil
            }
        }

        /// It takes no new requests from now on.
        ///
        /// - Parameter owesGoAway: whether the client leaves. The peer that said GOAWAY needs none.
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

        /// Nothing is under way.
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
            /// Nothing more comes: close after what was written.
            case finish
        }

        /// Nothing is under way, and all is written.
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

        /// The session neither reads nor writes any more.
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

        /// It is gone.
        mutating func end() { self = .ended(wasFinished: self.isFinished) }
    }
}
