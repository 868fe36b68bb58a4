internal import FerryCore
internal import NIOCore

extension GatewayConnection {
    /// The state of the connection; ``GatewayConnection`` has the drawing.
    enum State: Sendable {
        /// Notifications are read, without a time limit.
        case reading
        /// An error response is known, and waits until the client is calm.
        case calming(Candidate)
        /// The episode is being written to the journal. At `until` the connection stops waiting for the journal.
        case journalling(Candidate, until: NIODeadline)
        case draining(Drain)
        /// The drain is over, but the client has not ended the connection. Notifications are read as before.
        case deaf
        /// The client broke the protocol, or a new owner of the store gets its later notifications. The client's
        /// bytes are discarded until this time.
        case ignoring(until: NIODeadline)
        case closed

        /// Whether notifications are read and admitted.
        var isAdopting: Bool {
            switch self {
            case .reading, .calming, .journalling, .draining, .deaf: true
            case .ignoring, .closed: false
            }
        }

        /// Whether an error response may still be written.
        var mayTell: Bool {
            switch self {
            case .reading, .calming, .journalling: true
            case .draining, .deaf, .ignoring, .closed: false
            }
        }

        var drain: Drain? { if case .draining(let drain) = self { drain } else { nil } }
    }

    /// A last word (the one error response of a connection) that waits until it is written.
    struct Candidate: Sendable {
        enum Word: Sendable {
            case rejection(Ledger.Rejection)
            /// Status 10, which names the last accepted notification.
            case shutdown(Ledger.Accepted)
        }

        var word: Word
        /// When the connection began to wait with this last word.
        var knownAt: NIODeadline
        /// Whether the journal has the episode, or needs none.
        var isDurable = false
        var episode: EpisodeID
    }

    struct Drain: Sendable {
        /// The episode of the error response; nil if no error response was written.
        var episode: EpisodeID?
        var startedAt: NIODeadline
        var output: Output

        enum Output: Sendable {
            /// The output is open. The error response was its last bytes.
            case open
            /// The output ends although the client still writes. A circling client pauses only when it sees the end.
            case ending
            case closed
        }
    }

    /// A request to end the connection.
    struct Stop: Sendable {
        var since: NIODeadline
        /// Whether the window was full for too long. If so, the stop does not wait for silence.
        var isUrgent: Bool
        /// Whether a new owner of the store gets the notifications. If the client sent them again, its copies could
        /// reach the new owner before the handed-over notifications. So status 10 may wait longer than at a shutdown,
        /// so that it can name the last notification that was read.
        var handsOver = false
    }
}
