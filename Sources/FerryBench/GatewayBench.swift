internal import Ferry
internal import FerryBinary
internal import FerryForwarding
internal import FerryGateway
internal import FerryPlatform
internal import FerryTerminal
internal import FerryTesting
internal import NIOPosix

/// The benchmarks of the gateway: a client of the binary protocol, the gateway, and a simulated APNs over HTTP/2 in
/// this process, over real TLS on loopback. Client and APNs have one thread each, and the gateway has two.
struct GatewayBench: Benchmark {
    enum Scenario: String, BenchScenario {
        case directPaced = "direct-paced-10000"
        case paced = "gateway-paced-10000"
        case directBatch = "direct-batch"
        case batch = "gateway-batch"
        case delayed = "gateway-delayed"

        var share: Double {
            switch self {
            case .directBatch, .batch: 1
            case .delayed: 0.1
            case .directPaced, .paced: 0.03
            }
        }

        var note: String {
            switch self {
            case .directPaced: "the same as gateway-paced-10000, but over HTTP/2 straight to APNs"
            case .directBatch: "the same as gateway-batch, but over HTTP/2 straight to APNs"
            case .batch: "PushBatch, one connection; latency from submit to APNs"
            case .delayed: "PushBatch, one connection, APNs answers late; latency from submit to APNs, its delay too"
            case .paced: "10 every ms; latency from submit to APNs, client and APNs too"
            }
        }

        /// Whether the run has no gateway. Its difference from the same run with a gateway is the cost of the gateway.
        var isDirect: Bool { self == .directPaced || self == .directBatch }

        var isPaced: Bool { self == .directPaced || self == .paced }
    }

    /// The place of the gateway's store.
    enum Store {
        /// A file, which is removed after each run.
        case file(String)
        /// The connection string of a database without Ferry's tables. Each run makes and removes them.
        case postgres(String)

        /// The store's file, and those that SQLite and the store keep beside it.
        var files: [String] {
            guard case .file(let path) = self else { return [] }
            return ["", "-wal", "-shm", "-mark"].map { path + $0 }
        }

        /// Whether one of ``files`` exists, even as a device or as a link without a target.
        var hasFiles: Bool {
            self.files.contains { file in
                var status = stat()
                return lstat(file, &status) == 0
            }
        }
    }

    /// The settings that `ferry bench gateway` may change.
    struct Options {
        /// The delay of APNs' answers in the run ``Scenario/delayed``.
        var upstreamDelay: Duration = .milliseconds(50)
        /// Nil: no store.
        var store: Store?
    }

    /// A run fails when APNs accepts no notification for this time.
    private static let patience: Duration = .seconds(30)

    let count: Int
    let threads = BenchThreads(gateways: MultiThreadedEventLoopGroup(numberOfThreads: 2))
    private let options: Options
    private let credentials: TestCredentials

    /// - Throws: ``CommandFailure`` when one of the store's files exists, because a run would remove it. The file may
    ///   even be a device such as `/dev/null`.
    init(count: Int, _ options: Options) throws {
        guard options.store?.hasFiles != true else {
            throw CommandFailure.usage("The file of --store exists already; it would be removed, so name a new one.")
        }
        self.count = count
        self.options = options
        self.credentials = try TestCredentials()
    }

    func run(_ scenario: Scenario) async throws -> BenchResult {
        let (count, warmUp) = (self.count(of: scenario), self.warmUp(of: scenario))
        let recorder = GatewayBenchRecorder(
            warmUp: warmUp,
            count: count,
            sampling: scenario.share == 1 ? GatewayBenchRecorder.sampling : 1
        )
        var configuration = SimulatedAPNs.Configuration(credentials: self.credentials)
        configuration.recorder = recorder
        if scenario == .delayed { configuration.script.answerDelay = self.options.upstreamDelay }
        let apns = try await SimulatedAPNs.start(configuration, on: self.threads.servers)
        defer { self.removeStore() }
        return try await apns.serving { apns in
            scenario.isDirect
                ? try await self.runDirect(scenario, apns, recorder)
                : try await self.run(scenario, apns, recorder)
        }
    }

    private func run(
        _ scenario: Scenario,
        _ apns: SimulatedAPNs,
        _ recorder: GatewayBenchRecorder
    ) async throws -> BenchResult {
        let gateways = self.threads.gateways
        guard case .postgres(let connection) = self.options.store, let gateways else {
            let gateway = try await LocalGateway.start(before: apns, self.credentials, on: gateways) {
                if case .file(let path) = self.options.store { $0.store = SQLiteStore(path: path) }
            }
            return try await self.serve(scenario, gateway, recorder)
        }
        return try await BenchDatabase.with(connection) { database in
            let eventLoop = gateways.next()
            let gateway = try await LocalGateway.start(
                before: apns,
                self.credentials,
                on: gateways,
                sharing: (try await database.store(on: eventLoop), eventLoop)
            )
            return try await self.serve(scenario, gateway, recorder)
        }
    }

    private func serve(
        _ scenario: Scenario,
        _ gateway: LocalGateway,
        _ recorder: GatewayBenchRecorder
    ) async throws -> BenchResult {
        try await gateway.serving(stopWithin: .seconds(10), afterErrorWithin: .zero) {
            try await self.run(scenario, $0, recorder)
        }
    }

    private func run(
        _ scenario: Scenario,
        _ gateway: LocalGateway,
        _ recorder: GatewayBenchRecorder
    ) async throws -> BenchResult {
        var client = gateway.client(outcomes: .discard)
        client.eventLoopGroup = self.threads.clients
        // A client with the cache policy `hold` would wait for silence. The run measures the gateway, and not the
        // client.
        client.options.cachePolicy = .evict
        client.options.settleTime = .milliseconds(100)
        let provider = try BinaryProvider(client)
        let result = try await self.measure(scenario, provider, recorder)
        // A probe would be one notification more.
        let report = await provider.shutDown(within: .seconds(10), proof: .silence)
        let (total, counts) = (self.total(of: scenario), try await self.settledCounts(gateway))
        guard report.outcomes.accepted == total, report.contradicted == 0, recorder.count == total,
            recorder.others == 0, counts.isConserved, counts.read == total, counts.forwarded == total,
            counts.accepted == total, counts.copies == 0
        else {
            throw BenchImbalance(
                description:
                    "\(scenario.rawValue): of \(total) the client counts \(report.outcomes.accepted) as accepted, "
                    + "the gateway read \(counts.read) and has \(counts.accepted) accepted, and APNs accepted "
                    + "\(recorder.count) and \(recorder.others) more, twice or unknown."
            )
        }
        return result
    }

    private func runDirect(
        _ scenario: Scenario,
        _ apns: SimulatedAPNs,
        _ recorder: GatewayBenchRecorder
    ) async throws -> BenchResult {
        let tokens = try self.credentials.tokenSource()
        var configuration = self.credentials.http2(to: apns, tokens, topic: LocalGateway.topic, outcomes: .discard)
        configuration.eventLoopGroup = self.threads.clients
        let provider = try HTTP2Provider(configuration)
        let result = try await self.measure(scenario, provider, recorder)
        let report = await provider.shutDown(within: .seconds(10), proof: .silence)
        let total = self.total(of: scenario)
        guard report.outcomes.confirmed == total, recorder.count == total, recorder.others == 0 else {
            throw BenchImbalance(
                description:
                    "\(scenario.rawValue): of \(total) the provider has \(report.outcomes.confirmed) confirmed, "
                    + "and APNs accepted \(recorder.count) and \(recorder.others) more, twice or unknown."
            )
        }
        return result
    }

    private func measure(
        _ scenario: Scenario,
        _ provider: any PushProvider,
        _ recorder: GatewayBenchRecorder
    ) async throws -> BenchResult {
        let (warmUp, total) = (self.warmUp(of: scenario), self.total(of: scenario))
        let load = try GatewayBenchLoad(provider: provider, recorder: recorder)
        try await load.run(0..<warmUp, isPaced: false)
        try await self.wait(for: warmUp, recorder)
        return try await self.threads.measure(scenario.rawValue, scenario.note, count: total - warmUp) {
            try await load.run(warmUp..<total, isPaced: scenario.isPaced)
            try await self.wait(for: total, recorder)
            return recorder.latencies
        }
    }

    /// The number of notifications of a run, with the notifications of the warm-up.
    private func total(of scenario: Scenario) -> Int { self.warmUp(of: scenario) + self.count(of: scenario) }

    private func warmUp(of scenario: Scenario) -> Int { max(self.count(of: scenario) / 10, BenchLoad.taskCount) }

    /// Returns the gateway's counts when the gateway has the last answer, or after ``patience``. APNs counts a
    /// notification before it sends the answer.
    private func settledCounts(_ gateway: LocalGateway) async throws -> FateCounts {
        let deadline = ContinuousClock.now + Self.patience
        while true {
            let counts = try await gateway.counts
            guard counts.unanswered > 0, .now < deadline else { return counts }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Waits until APNs has accepted `total` notifications.
    private func wait(for total: Int, _ recorder: GatewayBenchRecorder) async throws {
        var (last, since) = (0, ContinuousClock.now)
        while true {
            let count = recorder.count
            guard count < total else { return }
            if count > last {
                (last, since) = (count, .now)
            } else if .now - since > Self.patience {
                throw BenchImbalance(
                    description: "Of \(total) notifications APNs has accepted \(count), and no more come."
                )
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private func removeStore() {
        for file in self.options.store?.files ?? [] { unlink(file) }
    }
}
