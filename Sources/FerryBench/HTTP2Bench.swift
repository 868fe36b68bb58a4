internal import Ferry
internal import FerryForwarding
internal import FerryTesting
internal import NIOPosix

/// The benchmarks of HTTP/2: a provider with provider tokens and a simulated APNs in this process, over real TLS on
/// loopback. ``BenchProvider`` has the numbers of threads and connections.
struct HTTP2Bench: Benchmark {
    /// The runs, in the order of the memory that they need: the allocator may keep memory that an earlier run freed.
    enum Scenario: String, BenchScenario {
        case paced = "http2-paced-10000"
        case bare = "http2-bare"
        case batch = "http2-batch"
        case values = "http2-values"
        case send = "http2-send-1000-tasks"
        case oneStream = "http2-one-stream"

        var share: Double {
            switch self {
            case .bare, .batch: 1
            case .values, .send: 0.5
            case .paced: 0.015
            case .oneStream: 0.1
            }
        }

        /// The way to give notifications to the provider. Nil: the run has no provider.
        var kind: BenchLoad.Kind? {
            switch self {
            case .bare: nil
            case .batch, .oneStream: .batches
            case .values: .values
            case .send: .send
            case .paced: .paced
            }
        }

        var note: String {
            switch self {
            case .bare: "the same requests without a provider, 1000 streams"
            case .batch: "PushBatch, 1000 streams; latency from submit to outcome"
            case .values: "submit(contentsOf:), 1000 streams; latency from submit to outcome"
            case .send: "send in 1000 tasks; latency from call to outcome"
            case .paced: "10 every ms; latency from submit to TLS"
            case .oneStream: "PushBatch, SETTINGS of 1 stream; latency from submit to outcome"
            }
        }

        var streams: Int { self == .oneStream ? 1 : HTTP2Bench.streams }
    }

    /// The largest number of requests under way at the same time, except in the run `oneStream`.
    static let streams = 1000
    static let topic = "com.example.app"

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
        var configuration = SimulatedAPNs.Configuration(credentials: self.credentials)
        configuration.script.maxConcurrentStreams = scenario.streams
        return try await SimulatedAPNs.start(configuration, on: self.threads.servers).serving { server in
            guard let kind = scenario.kind else { return try await self.runBare(scenario, server) }
            return try await self.run(scenario, kind, server)
        }
    }

    private func run(_ scenario: Scenario, _ kind: BenchLoad.Kind, _ server: SimulatedAPNs) async throws -> BenchResult
    {
        let sink = BenchSink(count: self.count(of: scenario))
        let tokens = try self.credentials.tokenSource()
        var configuration = self.credentials.http2(to: server, tokens, topic: Self.topic, outcomes: .sink(sink))
        let metrics = self.provider.hasMetrics ? BenchMetrics() : nil
        configuration.observer = metrics.map { ProviderMetrics(factory: $0) }
        configuration.options.maxStreams = scenario.streams
        configuration.options.maxConnections = self.provider.connections
        configuration.eventLoopGroup = self.threads.clients
        configuration.loopCount = self.provider.loops
        let provider: any LoopProvider =
            self.provider.migrates
            ? try MigratingProvider(.benchmark(configuration, credentials: self.credentials))
            : try HTTP2Provider(configuration)
        return try await self.measure(
            scenario,
            kind,
            provider,
            sink,
            metrics: metrics,
            proof: \.confirmed,
            received: { server.counts.accepted }
        )
    }

    private func runBare(_ scenario: Scenario, _ server: SimulatedAPNs) async throws -> BenchResult {
        let client = try await BareHTTP2.connect(
            to: server,
            self.credentials,
            token: try self.credentials.tokenSource().token(),
            on: self.threads.clients.next()
        )
        let warmUp = max(self.count / 10, Self.streams)
        try await client.send(warmUp)
        let result = try await self.threads.measure(scenario.rawValue, scenario.note, count: self.count) {
            try await client.send(self.count)
            return Latencies(nanoseconds: [])
        }
        try await client.close()
        guard server.counts.accepted == self.count + warmUp else {
            throw BenchImbalance(
                description: "\(scenario.rawValue): of \(self.count + warmUp) requests the server accepted "
                    + "\(server.counts.accepted)."
            )
        }
        return result
    }
}
