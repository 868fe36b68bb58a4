internal import Ferry
internal import FerryBinary
internal import FerryForwarding
internal import FerryTesting

/// The benchmarks of the binary protocol: a provider and a simulated gateway in this process, over real TLS on
/// loopback. The provider and the gateway have ``BenchProvider/loops`` threads each.
struct BinaryBench: Benchmark {
    /// The runs, in the order of the memory that they need: the allocator may keep memory that an earlier run freed.
    enum Scenario: String, BenchScenario {
        case paced = "paced-10000"
        case batchEvict = "batch-evict"
        case batchHold = "batch-hold"
        case values
        case send = "send-1000-tasks"

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

    let count: Int
    let threads: BenchThreads
    private let provider: BenchProvider
    private let credentials: TestCredentials

    init(count: Int, _ provider: BenchProvider) throws {
        self.count = count
        self.provider = provider
        self.threads = BenchThreads(provider.loops)
        self.credentials = try TestCredentials()
    }

    func run(_ scenario: Scenario) async throws -> BenchResult {
        try await SimulatedGateway.start(.init(credentials: self.credentials), on: self.threads.servers)
            .serving { try await self.run(scenario, $0) }
    }

    private func run(_ scenario: Scenario, _ gateway: SimulatedGateway) async throws -> BenchResult {
        let sink = BenchSink(count: self.count(of: scenario))
        var configuration = self.credentials.binary(host: gateway.host, port: gateway.port, outcomes: .sink(sink))
        let metrics = self.provider.hasMetrics ? BenchMetrics() : nil
        configuration.observer = metrics.map { ProviderMetrics(factory: $0) }
        configuration.options = scenario.options
        configuration.options.maxConnections = self.provider.connections
        configuration.eventLoopGroup = self.threads.clients
        configuration.loopCount = self.provider.loops
        let provider: any LoopProvider =
            self.provider.migrates
            ? try MigratingProvider(.benchmark(configuration, credentials: self.credentials))
            : try BinaryProvider(configuration)
        return try await self.measure(
            scenario,
            scenario.kind,
            provider,
            sink,
            metrics: metrics,
            proof: \.accepted,
            received: { gateway.counts.accepted }
        )
    }
}
