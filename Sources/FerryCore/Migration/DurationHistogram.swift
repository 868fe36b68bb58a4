/// A histogram of durations, for any number of notifications, in 48 numbers.
///
/// The bounds of two neighbouring buckets differ by the factor √2, from 1 µs to about 8.4 s; the last bucket has everything longer.
/// A quantile is the upper bound of its bucket, and so at most 41 % too large.
public struct DurationHistogram: Sendable, Hashable {
    /// The number of buckets.
    static let size = 48

    /// The number of durations in each bucket.
    public private(set) var buckets = Array(repeating: 0, count: DurationHistogram.size)
    /// The number of durations.
    public private(set) var count = 0

    /// Creates a histogram without durations.
    public init() {}

    /// Returns the upper bound of a bucket; nil for the last one, which has none.
    public static func bound(ofBucket index: Int) -> Duration? {
        guard index < self.size - 1 else { return nil }
        let microseconds = Double(UInt64(1) << UInt64(index / 2)) * (index.isMultiple(of: 2) ? 1 : 2.0.squareRoot())
        return .nanoseconds(Int64((microseconds * 1000).rounded()))
    }

    /// Adds `count` durations of `nanoseconds`.
    package mutating func add(nanoseconds: Int64, count: Int = 1) {
        self.buckets[Self.bucket(nanoseconds)] += count
        self.count += count
    }

    private static let bounds = (0..<Self.size - 1).compactMap { index in
        Self.bound(ofBucket: index).map {
            $0.components.seconds * 1_000_000_000 + $0.components.attoseconds / 1_000_000_000
        }
    }

    private static func bucket(_ nanoseconds: Int64) -> Int {
        var (low, high) = (0, self.bounds.count)
        while low < high {
            let middle = low + (high - low) / 2
            if self.bounds[middle] < nanoseconds { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the duration below which the given part of all lie, 0 to 1: the upper bound of its bucket. Nil if there is none, or
    /// if it lies in the last bucket.
    public func quantile(_ part: Double) -> Duration? {
        guard self.count > 0, part >= 0, part <= 1 else { return nil }
        let rank = max(Int((part * Double(self.count)).rounded(.up)), 1)
        var seen = 0
        for (index, number) in self.buckets.enumerated() {
            seen += number
            if seen >= rank { return Self.bound(ofBucket: index) }
        }
        return nil
    }

    /// Adds the durations of `other`.
    package mutating func add(_ other: DurationHistogram) {
        for index in self.buckets.indices { self.buckets[index] += other.buckets[index] }
        self.count += other.count
    }
}
