/// Counts of times by their length, in fixed buckets from one millisecond to five minutes.
///
/// Adding a time costs a few comparisons, and no memory.
package struct TimeHistogram: Hashable, Sendable {
    /// The upper bounds of the buckets in nanoseconds. A time that equals a bound belongs to its bucket; a longer one than
    /// the last bound belongs to one more bucket.
    package static let bounds: [Int64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000,
    ]
    .map { $0 * 1_000_000 }

    /// The number of times in each bucket.
    package private(set) var counts = [Int](repeating: 0, count: Self.bounds.count + 1)
    /// The sum of all times in nanoseconds.
    package private(set) var sum: Int64 = 0

    package init() {}

    /// The number of times.
    package var count: Int { self.counts.reduce(0, +) }

    /// Adds a time. A negative one counts as none, because clocks may be compared across threads.
    package mutating func add(nanoseconds: Int64) {
        let time = max(nanoseconds, 0)
        var bucket = 0
        while bucket < Self.bounds.count, Self.bounds[bucket] < time { bucket += 1 }
        self.counts[bucket] += 1
        self.sum &+= time
    }

    package mutating func add(_ other: TimeHistogram) {
        for bucket in self.counts.indices { self.counts[bucket] += other.counts[bucket] }
        self.sum &+= other.sum
    }

    /// The time in seconds that this share of the times does not exceed, as exact as the buckets; nil if there are none. A
    /// time beyond the last bound counts as that bound.
    ///
    /// - Parameter share: 0 to 1.
    package func quantile(_ share: Double) -> Double? {
        let count = self.count
        guard count > 0 else { return nil }
        let wanted = max(share * Double(count), 1)
        var before = 0
        for (bucket, bound) in Self.bounds.enumerated() {
            let here = self.counts[bucket]
            if Double(before + here) >= wanted {
                let lower = bucket == 0 ? 0 : Self.bounds[bucket - 1]
                let part = (wanted - Double(before)) / Double(here)
                return (Double(lower) + part * Double(bound - lower)) / 1e9
            }
            before += here
        }
        return Self.bounds.last.map { Double($0) / 1e9 }
    }
}

/// The times of the last one to two minutes, for figures that a person reads.
package struct RecentTimes: Hashable, Sendable {
    /// The length of a window in nanoseconds. The figures come from the present window and the one before it.
    private static let window: Int64 = 60_000_000_000

    private var present = TimeHistogram()
    private var before = TimeHistogram()
    private var beganAt: Int64 = 0

    package init() {}

    /// - Parameter now: a monotonic time in nanoseconds.
    package mutating func add(nanoseconds: Int64, now: Int64) {
        self.turn(now)
        self.present.add(nanoseconds: nanoseconds)
    }

    /// - Parameter now: a monotonic time in nanoseconds.
    package mutating func times(now: Int64) -> TimeHistogram {
        self.turn(now)
        var times = self.before
        times.add(self.present)
        return times
    }

    private mutating func turn(_ now: Int64) {
        guard now - self.beganAt >= Self.window else { return }
        self.before = now - self.beganAt < 2 * Self.window ? self.present : TimeHistogram()
        self.present = TimeHistogram()
        self.beganAt = now
    }
}
