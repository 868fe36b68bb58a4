import Ferry
import FerryTesting
import NIOPosix
import Tracing

/// A kind of provider to test. It contains only the differences between them.
enum TestedProtocol: String, CaseIterable {
    case binary, http2, migrating
    case binaryOnTwoLoops, http2OnTwoLoops, migratingOnTwoLoops

    /// Two event loops, however many processors there are.
    private static let twoLoops = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    /// The number of event loops.
    var loops: Int {
        switch self {
        case .binary, .http2, .migrating: 1
        case .binaryOnTwoLoops, .http2OnTwoLoops, .migratingOnTwoLoops: 2
        }
    }

    /// The names of its protocols in metrics.
    var protocols: Set<String> {
        switch self {
        case .binary, .binaryOnTwoLoops: ["binary"]
        case .http2, .http2OnTwoLoops: ["http2"]
        case .migrating, .migratingOnTwoLoops: ["binary", "http2"]
        }
    }

    /// The number of peers.
    private var peers: Int { self.protocols.count }

    /// The number of connections of a provider, one for each peer and event loop.
    var connections: Int { self.peers * self.loops }

    /// The trouble that the peer causes.
    struct Trouble: Sendable {
        /// The numbers of the devices that are rejected.
        var bad: Set<Int> = []
        /// The number of notifications after which the peer ends a connection and says how far it has read.
        var endsEvery: Int?
        /// Whether the peer accepts connections and then stays silent.
        var isSilent = false
    }

    /// A provider with one protocol, its outcomes, and the notifications that arrived.
    struct Run: Sendable {
        var provider: any PushProvider
        var outcomes: OutcomeCollector
        /// How often each notification arrived.
        var arrived: @Sendable () throws -> [Int: Int]
    }

    /// The settings that both protocols have.
    struct Settings: Sendable {
        var queueLimit = 4096
        var loops = 1
        var observer: (any ProviderObserver)?
        var tracer: (any Tracer)?
    }

    /// Starts a peer and a provider, and runs `body` with them. A test that ends with the provider open fails.
    func run(
        _ trouble: Trouble = Trouble(),
        queueLimit: Int = 4096,
        observer: (any ProviderObserver)? = nil,
        tracer: (any Tracer)? = nil,
        _ body: (Run) async throws -> Void
    ) async throws {
        let settings = Settings(queueLimit: queueLimit, loops: self.loops, observer: observer, tracer: tracer)
        switch self {
        case .binary, .binaryOnTwoLoops: try await Self.runBinary(trouble, settings, body)
        case .http2, .http2OnTwoLoops: try await Self.runHTTP2(trouble, settings, body)
        case .migrating, .migratingOnTwoLoops: try await Self.runMigrating(trouble, settings, body)
        }
    }

    private static func runBinary(
        _ trouble: Trouble,
        _ settings: Settings,
        _ body: (Run) async throws -> Void
    ) async throws {
        try await Harness.run(self.gatewayScript(trouble)) { harness in
            var configuration = harness.proving
            configuration.options.queueLimit = settings.queueLimit
            configuration.options.maxConnections = settings.loops
            configuration.eventLoopGroup = Self.twoLoops
            configuration.loopCount = settings.loops
            configuration.observer = settings.observer
            configuration.tracer = settings.tracer
            try await body(
                Run(
                    provider: try BinaryProvider(configuration),
                    outcomes: harness.outcomes,
                    arrived: { try harness.arrived }
                )
            )
        }
    }

    private static func gatewayScript(_ trouble: Trouble) throws -> GatewayScript {
        var script = GatewayScript()
        script.rules = [.reject(try Harness.devices(trouble.bad))]
        if let count = trouble.endsEvery { script.rules.append(.shutDown(after: count)) }
        if trouble.isSilent { script.handshake = .silent }
        return script
    }

    private static func runHTTP2(
        _ trouble: Trouble,
        _ settings: Settings,
        _ body: (Run) async throws -> Void
    ) async throws {
        let outcomes = OutcomeCollector()
        try await self.withAPNs(trouble) { configuration, recorder in
            var configuration = configuration
            configuration.outcomes = .sink(outcomes)
            configuration.options.queueLimit = settings.queueLimit
            configuration.options.maxConnections = settings.loops
            configuration.eventLoopGroup = Self.twoLoops
            configuration.loopCount = settings.loops
            configuration.observer = settings.observer
            configuration.tracer = settings.tracer
            try await body(
                Run(
                    provider: try HTTP2Provider(configuration),
                    outcomes: outcomes,
                    arrived: { Self.arrived(recorder) }
                )
            )
        }
    }

    /// Half of the devices over each protocol.
    private static func runMigrating(
        _ trouble: Trouble,
        _ settings: Settings,
        _ body: (Run) async throws -> Void
    ) async throws {
        try await Harness.run(self.gatewayScript(trouble)) { harness in
            try await self.withAPNs(trouble) { http2, recorder in
                var configuration = MigratingConfiguration(
                    binary: harness.proving,
                    http2: http2,
                    options: MigrationOptions(rule: MigrationRule(share: 50)),
                    outcomes: .sink(harness.outcomes)
                )
                configuration.options.queueLimit = settings.queueLimit
                configuration.binary.options.maxConnections = settings.loops
                configuration.http2.options.maxConnections = settings.loops
                configuration.eventLoopGroup = Self.twoLoops
                configuration.loopCount = settings.loops
                configuration.observer = settings.observer
                configuration.tracer = settings.tracer
                try await body(
                    Run(
                        provider: try MigratingProvider(configuration),
                        outcomes: harness.outcomes,
                        arrived: { try harness.arrived.merging(Self.arrived(recorder), uniquingKeysWith: +) }
                    )
                )
            }
        }
    }

    private static func arrived(_ recorder: APNsMemoryRecorder) -> [Int: Int] {
        recorder.counts.reduce(into: [:]) { $0[Harness.number($1.key)] = $1.value }
    }

    /// Starts a simulated APNs, and stops it after `body`.
    static func withAPNs(
        _ trouble: Trouble = Trouble(),
        _ body: (HTTP2Configuration, APNsMemoryRecorder) async throws -> Void
    ) async throws {
        let credentials = try TestCredentials()
        let recorder = APNsMemoryRecorder()
        var server = SimulatedAPNs.Configuration(credentials: credentials)
        server.recorder = recorder
        server.script.rules = [.reject(try Harness.devices(trouble.bad))]
        if let count = trouble.endsEvery { server.script.rules.append(.goAway(every: count)) }
        if trouble.isSilent { server.script.rules = [HTTP2Rule(prefix: [], action: .silence)] }
        let apns = try await SimulatedAPNs.start(server)
        do {
            let source = try ProviderTokenSource(
                key: credentials.tokenKey,
                keyID: credentials.keyID,
                teamID: credentials.teamID
            )
            var configuration = HTTP2Configuration(
                host: apns.host,
                port: apns.port,
                credentials: .token(source),
                topic: "com.example.ferry",
                outcomes: .discard
            )
            configuration.trustRoots = credentials.trustRoots
            configuration.serverName = "localhost"
            configuration.options.connectTimeout = Harness.forever
            configuration.options.attemptTimeout = Harness.forever
            configuration.options.deadline = Harness.forever
            // This test rejects many notifications in a row on purpose.
            configuration.options.circuitBreaker = nil
            try await body(configuration, recorder)
        } catch {
            await apns.stop()
            throw error
        }
        await apns.stop()
    }
}
