internal import DequeModule
internal import FerryCore

/// The tokens whose refusal no error response has told. The next push to such a token tells it.
///
/// Bounded: the oldest goes first. Its refusal then stands in the list of rejections alone.
struct KnownBad: Sendable {
    struct Key: Hashable, Sendable {
        /// The number of the topic with its credential.
        var route: Int
        var token: ArraySlice<UInt8>
    }

    static let limit = 1_000_000

    private var statuses: [Key: BinaryStatus] = [:]
    private var order: Deque<Key> = []
    /// The tokens that went to make room.
    private(set) var evictedCount = 0

    var isEmpty: Bool { self.statuses.isEmpty }

    mutating func insert(_ key: Key, _ status: BinaryStatus) {
        guard self.statuses.updateValue(status, forKey: key) == nil else { return }
        self.order.append(key)
        // Removed keys stay in the list, so that it is longer than the table.
        while self.statuses.count > Self.limit || self.order.count > 2 * Self.limit {
            guard let oldest = self.order.popFirst() else { return }
            if self.statuses.removeValue(forKey: oldest) != nil { self.evictedCount += 1 }
        }
    }

    mutating func remove(_ key: Key) -> BinaryStatus? { self.statuses.removeValue(forKey: key) }

    /// Forgets the tokens of one route: its credential was replaced.
    mutating func removeAll(of route: Int) {
        self.statuses = self.statuses.filter { $0.key.route != route }
    }
}
