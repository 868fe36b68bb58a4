internal import Ferry
internal import FerryBinary
internal import FerryTesting
internal import NIOCore
internal import NIOPosix

/// Benchmarks of the binary protocol: a provider and a simulated gateway in this process, over real TLS on loopback, each
/// on a thread of its own.
struct BinaryBench: Benchmark {
    /// In the order of the memory that they need, because the allocator may keep what an earlier run freed.
    enum Scenario: String, CaseIterable {
        case paced = "paced-10000"
        case batchEvict = "batch-evict"
        case batchHold = "batch-hold"
        case values
        case send = "send-1000-tasks"

        /// What is done with how many, relative to the longest.
        var share: Double {
            switch self {
            case .batchEvict, .batchHold: 1
            case .values: 0.5
            case .send: 0.1
            case .paced: 0.003
            }
        }

        var kind: BenchLoad.Kind {
            switch self {
            case .batchEvict, .batchHold: .batches
            case .values: .values
            case .send: .send
            case .paced: .paced
            }
        }

        var note: String {
            switch self {
            case .batchEvict: "PushBatch, cache 1000, evict, settle 100 ms; latency from submit to outcome"
            case .batchHold: "PushBatch, hold, cache limit 1 M, settle 100 ms; latency from submit to outcome"
            case .values: "submit(contentsOf:), hold, settle 100 ms; latency from submit to outcome"
            case .send: "send in 1000 tasks, settle 1 ms; latency from call to outcome"
            case .paced: "10 every ms; latency from submit to TLS"
            }
        }

        var options: BinaryOptions {
            var options = BinaryOptions()
            options.settleTime = .milliseconds(100)
            options.cacheLimit = .init(entries: 1 << 20, bytes: 1 << 30)
            switch self {
            case .batchEvict:
                options.cachePolicy = .evict
                options.cacheLength = 1000
            case .send:
                options.settleTime = .milliseconds(1)
            case .batchHold, .values, .paced:
                break
            }
            return options
        }
    }

    /// Notifications of the longest runs.
    let count: Int
    private let credentials: TestCredentials
    private let clients: MultiThreadedEventLoopGroup
    private let servers: MultiThreadedEventLoopGroup

    init(count: Int) throws {
        self.count = count
        self.credentials = try TestCredentials()
        self.clients = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.servers = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    }

    func stop() async {
        try? await self.clients.shutdownGracefully()
        try? await self.servers.shutdownGracefully()
    }

    func run(_ name: String) async throws -> BenchResult {
        guard let scenario = Scenario(rawValue: name) else {
            throw BenchImbalance(description: "There is no run \(name).")
        }
        return try await self.run(scenario)
    }

    private func run(_ scenario: Scenario) async throws -> BenchResult {
        let gateway = try await SimulatedGateway.start(.init(credentials: self.credentials), on: self.servers)
        do {
            let result = try await self.run(scenario, gateway)
            await gateway.stop()
            return result
        } catch {
            await gateway.stop()
            throw error
        }
    }

    private func run(_ scenario: Scenario, _ gateway: SimulatedGateway) async throws -> BenchResult {
        let count = max(Int(Double(self.count) * scenario.share), BenchLoad.taskCount)
        let sink = BenchSink(count: count)
        var configuration = BinaryConfiguration(
            host: gateway.host,
            port: gateway.port,
            identity: self.credentials.client
        )
        configuration.trustRoots = self.credentials.trustRoots
        configuration.serverName = "localhost"
        configuration.options = scenario.options
        configuration.outcomes = .sink(sink)
        configuration.eventLoopGroup = self.clients
        let provider = try BinaryProvider(configuration)
        let load = try BenchLoad(provider: provider, sink: sink)

        let warmUp = max(count / 10, BenchLoad.taskCount)
        _ = try await load.run(scenario.kind, warmUp, isTimed: false)
        _ = await provider.drain(within: .seconds(60))
        ProcessMeter.resetPeak()
        let before = (ProcessMeter.now, ProcessMeter.processTime, await self.clientTime)
        let latencies = try await load.run(scenario.kind, count, isTimed: true)
        let drained = await provider.drain(within: .seconds(60))
        let after = (ProcessMeter.now, ProcessMeter.processTime, await self.clientTime)
        let peak = ProcessMeter.peak
        let report = await provider.shutdown(within: .seconds(10))

        let total = load.accepted + sink.accepted
        let expected = count + warmUp
        guard drained.unsettled == 0, report.outcomes.accepted == expected, report.outcomes.settled == expected,
            total == expected, sink.others == 0, gateway.counts.accepted == expected, report.contradicted == 0
        else {
            throw BenchImbalance(
                description: "\(scenario.rawValue): of \(expected) the provider reports \(report.outcomes.accepted) "
                    + "accepted, \(total) outcomes were delivered, and the gateway read \(gateway.counts.accepted)."
            )
        }
        let seconds = Double(after.0 - before.0) * 1e-9
        return BenchResult(
            name: scenario.rawValue,
            note: scenario.note,
            count: count,
            perSecond: Double(count) / seconds,
            cpuMicrosecondsEach: (after.1 - before.1) * 1e6 / Double(count),
            clientMicrosecondsEach: (after.2 - before.2) * 1e6 / Double(count),
            p50Ms: latencies.milliseconds(0.5),
            p99Ms: latencies.milliseconds(0.99),
            peakMiB: peak
        )
    }

    /// Processor time of the client's thread, in seconds.
    private var clientTime: Double {
        get async {
            (try? await self.clients.next().submit { ProcessMeter.threadTime }.get()) ?? 0
        }
    }
}
