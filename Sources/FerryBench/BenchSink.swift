internal import Ferry
internal import Synchronization

/// Counts outcomes, and measures the latency of a sample.
///
/// Unchecked, for two reasons. A start time is written before its notification is submitted and read after its outcome,
/// with the provider's lock in between. The samples belong to the sink until all outcomes were given.
final class BenchSink: OutcomeSink, @unchecked Sendable {
    /// One notification in this many is timed.
    static let sampling: UInt64 = 1024
    /// The tag of notifications that are not timed.
    static let untimed = UInt64.max

    private let count: UInt64
    private let starts: UnsafeMutableBufferPointer<UInt64>
    private var samples: [UInt64] = []
    private let acceptedCount = Atomic<Int>(0)
    private let otherCount = Atomic<Int>(0)

    /// - Parameter count: the sink times only tags below it.
    init(count: Int) {
        self.count = UInt64(count)
        self.starts = .allocate(capacity: count / Int(Self.sampling) + 1)
        self.starts.initialize(repeating: 0)
        self.samples.reserveCapacity(self.starts.count)
    }

    deinit {
        self.starts.deallocate()
    }

    /// Stores the start time of the notification with this tag, if it is timed.
    @inline(__always)
    func begin(_ tag: UInt64) {
        if tag % Self.sampling == 0 { self.starts[Int(tag / Self.sampling)] = ProcessMeter.now }
    }

    func settled(_ outcomes: Span<OutcomeRecord>) {
        var accepted = 0
        for index in outcomes.indices {
            if case .accepted = outcomes[index].outcome { accepted += 1 }
            let tag = outcomes[index].tag.rawValue
            if tag % Self.sampling == 0, tag < self.count {
                self.samples.append(ProcessMeter.now - self.starts[Int(tag / Self.sampling)])
            }
        }
        self.acceptedCount.add(accepted, ordering: .relaxed)
        self.otherCount.add(outcomes.count - accepted, ordering: .relaxed)
    }

    var accepted: Int { self.acceptedCount.load(ordering: .relaxed) }
    var others: Int { self.otherCount.load(ordering: .relaxed) }

    /// The measured latencies. Read them only after the last outcome.
    var latencies: Latencies { Latencies(nanoseconds: self.samples) }
}

/// A sorted list of latencies.
struct Latencies: Equatable, Sendable {
    private var sorted: [UInt64]

    init(nanoseconds: [UInt64]) {
        self.sorted = nanoseconds.sorted()
    }

    /// The time, in milliseconds, within which this share (0…1) was done. Nil if nothing was measured.
    func milliseconds(_ share: Double) -> Double? {
        guard !self.sorted.isEmpty else { return nil }
        let index = Int((Double(self.sorted.count) * share).rounded(.up)) - 1
        return Double(self.sorted[min(max(index, 0), self.sorted.count - 1)]) * 1e-6
    }
}
