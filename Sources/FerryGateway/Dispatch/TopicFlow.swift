/// One client's notifications for one of its topics: what waits, and how far APNs' refusals let it go.
///
/// A flow has its turns on the connection that all clients share, within its credit. A suspicious flow has its turns on
/// the side connection.
struct TopicFlow: Sendable {
    /// The number of the topic with its credential.
    let route: Int
    /// The place of the topic among the client's.
    let topic: Int
    let identity: Int
    /// The notifications that wait for their turn with this topic.
    var turns = ConnectionTurns()
    var credit = Credit()
    var suspicion = Suspicion()
    /// Whether a notification whose topic is open has the next turn. Without turns, it would wait behind all others.
    var guessIsNext = false
    /// Whether it stands in one of the orders of its upstream.
    var isInOrder = false

    /// The number of tokens without a known topic that may go over the common connection now.
    ///
    /// A refusal may mean that all of them belong to the next topic. So the answers to those under way are awaited then, and
    /// one at a time goes out until APNs takes one. Otherwise each answer would let another one out, to be refused, too.
    var roomForGuesses: Int {
        guard self.suspicion.wasRefused else { return self.credit.room }
        return self.credit.underWay.timely == 0 ? 1 : 0
    }
}
