internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The bounds: how many notifications may be written, and which keep their bytes.
extension BinaryClient {
    /// The number of further notifications that may be unsettled on the lane.
    func room(_ lane: Lane) -> Int {
        guard !self.isPaused, lane.connection.open != nil else { return 0 }
        var room = self.cacheRoom
        if let size = lane.window.size { room = min(room, size - lane.connection.cache.unsettledCount) }
        if let allowance = lane.search?.allowance { room = min(room, allowance) }
        return max(room, 0)
    }

    /// The number of notifications that may be unsettled on all connections together.
    var unsettledLimit: Int {
        switch self.options.cachePolicy {
        case .evict: Self.accountLimit
        case .hold: self.cacheLength.current
        }
    }

    /// The number of further notifications that may be unsettled within the bounds of the cache.
    var cacheRoom: Int {
        if self.options.cachePolicy == .hold, self.cached.unsettledBytes >= max(self.options.cacheLimit.bytes, 1) {
            return 0
        }
        return self.unsettledLimit - self.unsettledCount
    }

    /// The content of all caches together.
    private var cached: NotificationCache.Content {
        self.lanes.reduce(into: NotificationCache.Content()) { $0.add($1.connection.cache.content) }
    }

    /// Removes the bytes of the oldest notifications until the caches are within their bounds.
    func makeRoom(on lane: Lane) {
        switch self.options.cachePolicy {
        case .evict:
            lane.connection.evict(keeping: self.cacheLength.current)
        case .hold:
            let cached = self.cached
            var count = cached.unsettled + cached.retained - self.cacheLength.current
            var bytes = cached.unsettledBytes + cached.retainedBytes - max(self.options.cacheLimit.bytes, 1)
            while count > 0 || bytes > 0, let freed = self.laneWithOldestHistory?.connection.evictOldestHistory() {
                count -= freed.count
                bytes -= freed.bytes
            }
        }
    }

    /// The lane with the oldest settled notification that still has its bytes.
    private var laneWithOldestHistory: Lane? {
        var oldest: (lane: Lane, settledAt: NIODeadline)?
        for lane in self.lanes {
            guard let settledAt = lane.connection.cache.oldestHistory?.settledAt else { continue }
            if oldest.map({ settledAt < $0.settledAt }) ?? true { oldest = (lane, settledAt) }
        }
        return oldest?.lane
    }
}
