internal import CAllocationCounter
internal import Foundation

/// A measurement: the preparation, which is not measured, and the code that is measured.
struct Benchmark: Sendable {
    let name: String
    /// The number of operations of one run.
    let count: Int
    let prepare: @Sendable () -> () -> Void

    init(_ name: String, count: Int, prepare: @escaping @Sendable () -> () -> Void) {
        self.name = name
        self.count = count
        self.prepare = prepare
    }

    /// One line of the table.
    struct Result {
        var name: String
        var fastest: Double
        var median: Double
        var allocations: Double
    }

    /// Measures nanoseconds and allocations of an operation in `samples` runs, after one run that does not count.
    func measure(samples: Int) -> Result {
        var nanoseconds: [Double] = []
        var allocations: UInt64 = .max
        for sample in 0...samples {
            let run = self.prepare()
            let before = ferry_allocations()
            let start = ContinuousClock.now
            run()
            let passed = ContinuousClock.now - start
            let after = ferry_allocations()
            guard sample > 0 else { continue }
            nanoseconds.append(passed / .nanoseconds(1) / Double(self.count))
            allocations = min(allocations, after - before)
        }
        nanoseconds.sort()
        return Result(
            name: self.name,
            fastest: nanoseconds[0],
            median: nanoseconds[samples / 2],
            allocations: Double(allocations) / Double(self.count)
        )
    }
}

/// Uses a value. Without this, the optimiser would remove the computation of an unused result.
@inline(never)
func use<Value: ~Copyable>(_ value: borrowing Value) {}

@main
struct Benchmarks {
    /// Arguments: the names of measurements, or parts of names. Without arguments, all run.
    static func main() {
        let wanted = CommandLine.arguments.dropFirst()
        let all = codec + machine + text
        print("| what | ns each, fastest | ns each, median | allocations each |\n|---|---|---|---|")
        for benchmark in all where wanted.isEmpty || wanted.contains(where: benchmark.name.contains) {
            let result = benchmark.measure(samples: 15)
            print(
                String(
                    format: "| \(result.name) | %.1f | %.1f | %.4f |",
                    result.fastest,
                    result.median,
                    result.allocations
                )
            )
        }
    }
}
