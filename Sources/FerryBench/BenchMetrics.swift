internal import CoreMetrics
internal import FerryCore
internal import Synchronization

/// A backend of metrics in memory, with an atomic number for each series.
final class BenchMetrics: MetricsFactory {
    private final class Number: CounterHandler, RecorderHandler, TimerHandler {
        private let value = Atomic<Int64>(0)

        var total: Int64 { self.value.load(ordering: .relaxed) }

        func increment(by amount: Int64) { self.value.add(amount, ordering: .relaxed) }

        func reset() { self.value.store(0, ordering: .relaxed) }

        func record(_ value: Int64) { self.value.store(value, ordering: .relaxed) }

        func record(_ value: Double) { self.record(Int64(value)) }

        func recordNanoseconds(_ duration: Int64) { self.record(duration) }
    }

    private let counters = Locked<[String: Number]>([:])

    /// The value of a counter without dimensions.
    func total(_ label: String) -> Int { self.counters.withLock { Int($0[label]?.total ?? 0) } }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let number = Number()
        if dimensions.isEmpty { self.counters.withLock { $0[label] = number } }
        return number
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        Number()
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { Number() }

    func destroyCounter(_ handler: any CounterHandler) {}

    func destroyRecorder(_ handler: any RecorderHandler) {}

    func destroyTimer(_ handler: any TimerHandler) {}
}
