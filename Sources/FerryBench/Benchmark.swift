internal import Ferry

/// A family of runs that share a set of threads.
protocol Benchmark {
    associatedtype Scenario: BenchScenario

    /// The number of notifications of the longest runs.
    var count: Int { get }
    var threads: BenchThreads { get }

    /// - Throws: ``BenchImbalance``, or the error that stops the run.
    func run(_ scenario: Scenario) async throws -> BenchResult
}

/// One run of a benchmark. The raw value is its name.
protocol BenchScenario: RawRepresentable<String>, CaseIterable {
    /// The number of notifications, relative to the longest run.
    var share: Double { get }
    /// A few words about the run and its latency.
    var note: String { get }
}

extension Benchmark {
    static var names: [String] { Scenario.allCases.map(\.rawValue) }

    func run(named name: String) async throws -> BenchResult {
        guard let scenario = Scenario(rawValue: name) else {
            throw BenchImbalance(description: "There is no run \(name).")
        }
        return try await self.run(scenario)
    }

    /// The number of notifications that a run measures, after its warm-up.
    func count(of scenario: Scenario) -> Int {
        max(Int(Double(self.count) * scenario.share), BenchLoad.taskCount)
    }

    /// Measures a provider after a warm-up, and shuts the provider down.
    ///
    /// - Parameters:
    ///   - metrics: the metrics of the provider; nil without metrics.
    ///   - kind: how notifications are given to the provider.
    ///   - sink: the provider's sink, made for ``count(of:)``.
    ///   - proof: the outcome that each notification must have.
    ///   - received: returns how many notifications the server has accepted so far.
    /// - Throws: ``BenchImbalance`` when a notification was not accepted or has no outcome after 60 s, or when the
    ///   counts of provider and server differ.
    func measure(
        _ scenario: Scenario,
        _ kind: BenchLoad.Kind,
        _ provider: any PushProvider,
        _ sink: BenchSink,
        metrics: BenchMetrics?,
        proof: KeyPath<OutcomeCounts, Int>,
        received: () -> Int
    ) async throws -> BenchResult {
        let count = self.count(of: scenario)
        let load = try BenchLoad(provider: provider, sink: sink)
        let warmUp = max(count / 10, BenchLoad.taskCount)
        _ = try await load.run(kind, warmUp, isTimed: false)
        _ = await provider.drain(within: .seconds(60))
        let result = try await self.threads.measure(scenario.rawValue, scenario.note, count: count) {
            let latencies = try await load.run(kind, count, isTimed: true)
            guard await provider.drain(within: .seconds(60)).unsettled == 0 else {
                throw BenchImbalance(description: "\(scenario.rawValue): not everything has an outcome after 60 s.")
            }
            return latencies
        }
        let report = await provider.shutDown(within: .seconds(10), proof: .silence)

        let (expected, total) = (count + warmUp, load.accepted + sink.accepted)
        guard report.outcomes[keyPath: proof] == expected, report.outcomes.settled == expected, total == expected,
            sink.others == 0, received() == expected, report.contradicted == 0,
            metrics.map({ $0.total("ferry_notifications_total") == expected }) ?? true
        else {
            throw BenchImbalance(
                description: "\(scenario.rawValue): of \(expected) the provider reports \(report.outcomes.accepted) "
                    + "accepted, \(total) outcomes were delivered, and the server accepted \(received())."
            )
        }
        return result
    }
}

/// The counts of a run do not balance, so its measurements are worthless.
struct BenchImbalance: Error, CustomStringConvertible {
    var description: String
}
