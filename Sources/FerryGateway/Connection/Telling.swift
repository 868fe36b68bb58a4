internal import FerryBinary
internal import FerryCore
internal import NIOCore

/// The last word of the gateway on a connection, and its consequences for the replay filter.
struct Telling: Hashable, Sendable {
    var episode: EpisodeID
    /// ``EpisodeKind/rejection`` or ``EpisodeKind/shutdown``.
    var kind: EpisodeKind
    var response: ErrorResponse
    /// The job of the rejected notification. If the episode ends and the client may not have read the rejection, this
    /// job's rejection is deferred.
    var job: JobID?
    /// The key of the notification that the response names; nil if that notification is faulty, and so has no key.
    var named: ReplayKey?
    /// The round trip of the connection.
    var roundTrip: TimeAmount
    /// The notifications that the client may repeat.
    var followers: [Follower]
}
