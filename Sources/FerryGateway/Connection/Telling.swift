package import FerryBinary
package import FerryCore
package import NIOCore

/// The last word of the gateway on a connection, and what follows from it for the replay filter.
package struct Telling: Hashable, Sendable {
    package var episode: EpisodeID
    /// ``EpisodeKind/rejection`` or ``EpisodeKind/shutdown``.
    package var kind: EpisodeKind
    package var response: ErrorResponse
    /// The job of the rejected notification. Defer its rejection if the episode ends unheard.
    package var job: JobID?
    /// The key of the notification that the response names.
    package var named: ReplayKey?
    /// The round trip of the connection.
    package var roundTrip: TimeAmount
    /// The notifications that the client may send again.
    package var followers: [Follower]
}

/// A rejection that this connection will not tell. The next push to that device token may, on any connection.
package struct DeferredRejection: Hashable, Sendable {
    package var sequence: UInt64
    /// Nil: the notification was refused before it had a job.
    package var job: JobID?
    package var status: BinaryStatus
}
