/// One client's notifications for one of its topics: what waits, and how far APNs' refusals let it go.
///
/// A lane has its turns on the connection that all clients share, within its credit. A suspicious lane has its turns on
/// the side connection.
struct TopicFlow: Sendable {
    /// The number of the topic with its credential.
    let route: Int
    /// The place of the topic among the client's.
    let topic: Int
    let identity: Int
    /// What may go out with this topic.
    var turns = ConnectionTurns()
    var credit = Credit()
    var suspicion = Suspicion()
    /// Whether it stands in one of the orders of its upstream.
    var isInOrder = false
}
