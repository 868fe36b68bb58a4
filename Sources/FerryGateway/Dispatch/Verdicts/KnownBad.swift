internal import DequeModule
internal import FerryCore

/// The refused tokens that no error response has named. The next push to such a token is refused with the status of the
/// earlier refusal.
///
/// The number of tokens is bounded. The oldest token is dropped first. Only the list of rejections then has the
/// refusal of this token.
struct KnownBad: Sendable {
    struct Key: Hashable, Sendable {
        /// The number of the route: topic and credential.
        var route: Int
        /// The bytes are copied, because a slice would keep the whole payload in memory.
        var token: [UInt8]
    }

    private let limit: Int

    private var statuses: [Key: BinaryStatus] = [:]
    private var order: Deque<Key> = []

    /// - Parameter limit: the largest number of remembered tokens.
    init(limit: Int = 1_000_000) { self.limit = limit }

    var isEmpty: Bool { self.statuses.isEmpty }

    mutating func insert(_ key: Key, _ status: BinaryStatus) {
        guard self.statuses.updateValue(status, forKey: key) == nil else { return }
        self.order.append(key)
        // A removed key stays in the order, so the order can be longer than the table.
        while self.statuses.count > self.limit || self.order.count > 2 * self.limit {
            guard let oldest = self.order.popFirst() else { return }
            self.statuses[oldest] = nil
        }
    }

    subscript(key: Key) -> BinaryStatus? { self.statuses[key] }

    mutating func remove(_ key: Key) { self.statuses[key] = nil }
}
