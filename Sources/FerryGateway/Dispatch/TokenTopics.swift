internal import DequeModule

/// The topics with which APNs took notifications, for the tokens of clients with several topics. The next push to such
/// a token begins with its topic.
///
/// Bounded: the oldest goes first, and is found out again.
struct TokenTopics: Sendable {
    struct Key: Hashable, Sendable {
        var identity: Int
        /// A copy: a slice would keep the payload.
        var token: [UInt8]
    }

    private let limit: Int
    private var topics: [Key: Int] = [:]
    private var order: Deque<Key> = []

    /// - Parameter limit: the most tokens that it remembers.
    init(limit: Int = 1_000_000) { self.limit = limit }

    /// The place of the token's topic among those of the client; nil: it is not known.
    subscript(key: Key) -> Int? { self.topics[key] }

    mutating func remember(_ topic: Int, for key: Key) {
        guard self.topics.updateValue(topic, forKey: key) == nil else { return }
        self.order.append(key)
        guard self.order.count > self.limit, let oldest = self.order.popFirst() else { return }
        self.topics[oldest] = nil
    }
}
