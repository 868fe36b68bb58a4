internal import DequeModule

/// The topic that APNs accepted for each token of a client with several topics. The next push to the token tries this
/// topic first.
///
/// The number of tokens is bounded. The oldest token is dropped first. A push to such a token tries the client's
/// topics anew.
struct TokenTopics: Sendable {
    struct Key: Hashable, Sendable {
        var identity: Int
        /// The bytes are copied, because a slice would keep the whole payload in memory.
        var token: [UInt8]
    }

    private let limit: Int
    private var topics: [Key: Int] = [:]
    private var order: Deque<Key> = []

    /// - Parameter limit: the largest number of remembered tokens.
    init(limit: Int = 1_000_000) { self.limit = limit }

    /// The number of the flow with the token's topic; nil if it is not known.
    subscript(key: Key) -> Int? { self.topics[key] }

    mutating func remember(_ flow: Int, for key: Key) {
        guard self.topics.updateValue(flow, forKey: key) == nil else { return }
        self.order.append(key)
        guard self.order.count > self.limit, let oldest = self.order.popFirst() else { return }
        self.topics[oldest] = nil
    }
}
