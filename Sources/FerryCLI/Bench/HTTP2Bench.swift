internal import Ferry
internal import FerryTesting
internal import NIOCore
internal import NIOPosix

/// Benchmarks of HTTP/2: a provider with provider tokens and a simulated APNs in this process, over real TLS on loopback,
/// each on a thread of its own, with one connection.
struct HTTP2Bench: Benchmark {
    /// In the order of the memory that they need, because the allocator may keep what an earlier run freed.
    enum Scenario: String, CaseIterable {
        case paced = "http2-paced-10000"
        case bare = "http2-bare"
        case batch = "http2-batch"
        case values = "http2-values"
        case send = "http2-send-1000-tasks"
        case oneStream = "http2-one-stream"

        /// What is done with how many, relative to the longest.
        var share: Double {
            switch self {
            case .bare, .batch: 1
            case .values, .send: 0.5
            case .paced: 0.015
            case .oneStream: 0.1
            }
        }

        /// Nil: there is no provider.
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

    /// How many requests are under way at a time.
    static let streams = 1000
    static let topic = "com.example.app"

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
        var configuration = SimulatedAPNs.Configuration(credentials: self.credentials)
        configuration.script.maxConcurrentStreams = scenario.streams
        let server = try await SimulatedAPNs.start(configuration, on: self.servers)
        do {
            let result: BenchResult
            if let kind = scenario.kind {
                result = try await self.run(scenario, kind, server)
            } else {
                result = try await self.runBare(scenario, server)
            }
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }

    private func source() throws -> ProviderTokenSource {
        try ProviderTokenSource(
            key: self.credentials.tokenKey,
            keyID: self.credentials.keyID,
            teamID: self.credentials.teamID
        )
    }

    private func run(_ scenario: Scenario, _ kind: BenchLoad.Kind, _ server: SimulatedAPNs) async throws -> BenchResult
    {
        let count = max(Int(Double(self.count) * scenario.share), BenchLoad.taskCount)
        let sink = BenchSink(count: count)
        var configuration = HTTP2Configuration(
            host: server.host,
            port: server.port,
            credentials: .token(try self.source()),
            topic: Self.topic
        )
        configuration.trustRoots = self.credentials.trustRoots
        configuration.serverName = "localhost"
        configuration.options.maxStreams = scenario.streams
        configuration.outcomes = .sink(sink)
        configuration.eventLoopGroup = self.clients
        let provider = try HTTP2Provider(configuration)
        let load = try BenchLoad(provider: provider, sink: sink)

        let warmUp = max(count / 10, BenchLoad.taskCount)
        _ = try await load.run(kind, warmUp, isTimed: false)
        _ = await provider.drain(within: .seconds(60))
        ProcessMeter.resetPeak()
        let before = (ProcessMeter.now, ProcessMeter.processTime, await self.clientTime)
        let latencies = try await load.run(kind, count, isTimed: true)
        let drained = await provider.drain(within: .seconds(60))
        let after = (ProcessMeter.now, ProcessMeter.processTime, await self.clientTime)
        let peak = ProcessMeter.peak
        let report = await provider.shutdown(within: .seconds(10))

        let total = load.accepted + sink.accepted
        let expected = count + warmUp
        guard drained.unsettled == 0, report.outcomes.confirmed == expected, report.outcomes.settled == expected,
            total == expected, sink.others == 0, server.counts.accepted == expected
        else {
            throw BenchImbalance(
                description: "\(scenario.rawValue): of \(expected) the provider reports \(report.outcomes.accepted) "
                    + "accepted, \(total) outcomes were delivered, and the server accepted \(server.counts.accepted)."
            )
        }
        return Self.result(scenario, count, before, after, latencies, peak)
    }

    private func runBare(_ scenario: Scenario, _ server: SimulatedAPNs) async throws -> BenchResult {
        let client = try await BareHTTP2.connect(
            to: server,
            self.credentials,
            token: try self.source().token(),
            on: self.clients.next()
        )
        let warmUp = max(self.count / 10, Self.streams)
        try await client.send(warmUp)
        ProcessMeter.resetPeak()
        let before = (ProcessMeter.now, ProcessMeter.processTime, await self.clientTime)
        try await client.send(self.count)
        let after = (ProcessMeter.now, ProcessMeter.processTime, await self.clientTime)
        let peak = ProcessMeter.peak
        try await client.close()
        guard server.counts.accepted == self.count + warmUp else {
            throw BenchImbalance(
                description: "\(scenario.rawValue): of \(self.count + warmUp) requests the server accepted "
                    + "\(server.counts.accepted)."
            )
        }
        return Self.result(scenario, self.count, before, after, Latencies(nanoseconds: []), peak)
    }

    private typealias Reading = (UInt64, Double, Double)

    private static func result(
        _ scenario: Scenario,
        _ count: Int,
        _ before: Reading,
        _ after: Reading,
        _ latencies: Latencies,
        _ peak: Double?
    ) -> BenchResult {
        BenchResult(
            name: scenario.rawValue,
            note: scenario.note,
            count: count,
            perSecond: Double(count) / (Double(after.0 - before.0) * 1e-9),
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
