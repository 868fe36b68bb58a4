internal import DequeModule
internal import FerryCore

/// The tokens whose refusal no error response has told. The next push to such a token tells it.
///
/// Bounded: the oldest goes first. Its refusal then stands in the list of rejections alone.
struct KnownBad: Sendable {
    struct Key: Hashable, Sendable {
        /// The number of the topic with its credential.
        var route: Int
        /// A copy: a slice would keep the payload.
        var token: [UInt8]
    }

    private let limit: Int

    private var statuses: [Key: BinaryStatus] = [:]
    private var order: Deque<Key> = []

    /// - Parameter limit: the most tokens that it remembers.
    init(limit: Int = 1_000_000) { self.limit = limit }

    var isEmpty: Bool { self.statuses.isEmpty }

    mutating func insert(_ key: Key, _ status: BinaryStatus) {
        guard self.statuses.updateValue(status, forKey: key) == nil else { return }
        self.order.append(key)
        // Removed keys stay in the list, so that it is longer than the table.
        while self.statuses.count > self.limit || self.order.count > 2 * self.limit {
            guard let oldest = self.order.popFirst() else { return }
            self.statuses[oldest] = nil
        }
    }

    subscript(key: Key) -> BinaryStatus? { self.statuses[key] }

    mutating func remove(_ key: Key) { self.statuses[key] = nil }
}
