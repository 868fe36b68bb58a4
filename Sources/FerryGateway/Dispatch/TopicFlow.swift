/// The waiting notifications of one client with one topic, and the ``Credit`` for those that may be under way.
///
/// A trusted flow takes its turns on the common connection, within its credit. A suspicious flow takes them on the side
/// connection.
struct TopicFlow: Sendable {
    /// The number of the route: topic and credential. A reload may change the route, but not the topic.
    var route: Int
    let identity: Int
    /// Whether the client has this topic. A removed client keeps its topics. Without the topic, the flow has only
    /// notifications that are under way, that pause after a failed attempt, or that wait for the store.
    var isActive = true
    /// The notifications that wait for their turn with this topic.
    var turns = ConnectionTurns()
    var credit = Credit()
    var suspicion = Suspicion()
    /// Whether a guess has the next turn. Without this turn, guesses would wait behind all other notifications of the
    /// flow.
    var guessIsNext = false
    /// Whether the flow is queued at its upstream.
    var isInOrder = false

    init(route: Int, identity: Int) {
        self.route = route
        self.identity = identity
    }

    /// The number of guesses that may go over the common connection now.
    ///
    /// A refusal may mean that all guesses belong to the next topic. So after a refusal the flow waits for all timely
    /// answers, and then sends one guess at a time until APNs accepts one. Otherwise each answer would let out another
    /// guess, which APNs would refuse, too.
    var roomForGuesses: Int {
        guard self.suspicion.wasRefused else { return self.credit.room }
        return self.credit.underWay.timely == 0 ? 1 : 0
    }
}
