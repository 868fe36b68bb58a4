internal import FerryBinary
internal import FerryCore
internal import NIOCore

/// The last word of the gateway on a connection: its one error response, with the consequences for the replay filter.
struct Telling: Hashable, Sendable {
    var episode: EpisodeID
    /// ``EpisodeKind/rejection`` or ``EpisodeKind/shutdown``.
    var kind: EpisodeKind
    var response: ErrorResponse
    /// The job of the rejected notification; nil for status 10, and for a faulty notification. If the episode ends
    /// and no follower came again, this job's rejection is deferred.
    var job: JobID?
    /// The key of the notification that the response names; nil for status 10, and for a faulty notification, which
    /// has no key.
    var named: ReplayKey?
    /// The round trip of the connection.
    var roundTrip: TimeAmount
    /// The notifications that the client may repeat.
    var followers: [Follower]
}
