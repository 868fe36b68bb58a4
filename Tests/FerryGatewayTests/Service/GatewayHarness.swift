import Ferry
import FerryTesting
import NIOCore
import Synchronization

@testable import FerryGateway

/// A simulated APNs, a provider that sends to it, and a gateway before it.
struct GatewayHarness {
    static let forever: Duration = .seconds(300)
    static let topic = "com.example.app"

    let credentials: TestCredentials
    let apns: SimulatedAPNs
    let recorder: APNsMemoryRecorder
    let gateway: Gateway
    let events: GatewayEvents
    let watch: UpstreamWatch

    static func run(
        _ rules: [HTTP2Rule] = [],
        topics: [String] = [Self.topic],
        _ change: (inout Gateway.Configuration) -> Void = { _ in },
        _ body: (GatewayHarness) async throws -> Void
    ) async throws {
        let credentials = try TestCredentials()
        let recorder = APNsMemoryRecorder()
        var simulated = SimulatedAPNs.Configuration(credentials: credentials)
        simulated.script.rules = rules
        simulated.recorder = recorder
        let apns = try await SimulatedAPNs.start(simulated)
        let outcomes = UpstreamOutcomes()
        let tokens = try ProviderTokenSource(
            key: credentials.tokenKey,
            keyID: credentials.keyID,
            teamID: credentials.teamID
        )
        var upstream = HTTP2Configuration(
            host: apns.host,
            port: apns.port,
            credentials: .token(tokens),
            outcomes: .sink(outcomes)
        )
        upstream.trustRoots = credentials.trustRoots
        upstream.options.circuitBreaker = nil
        // On a busy machine, a silent notification would be given up before the test has looked.
        upstream.options.lateAnswerLimit = Self.forever
        let watch = UpstreamWatch()
        upstream.observer = watch
        let provider = try HTTP2Provider(upstream)
        let events = GatewayEvents()
        var configuration = Gateway.Configuration(
            identity: credentials.server,
            clients: GatewayClients([(.fingerprints([credentials.client.summary.fingerprint]), 0)]),
            identities: [ClientIdentity(name: "old stack", routes: Array(topics.indices))],
            routes: topics.map { Route(upstream: 0, topic: Array($0.utf8)) }
        )
        configuration.onEvent = { event, _ in events.append(event) }
        change(&configuration)
        let gateway = try await Gateway.start(
            configuration,
            upstreams: [
                GatewayUpstream(provider, outcomes: outcomes, watch: watch) { [upstream] ended in
                    let outcomes = UpstreamOutcomes()
                    var side = upstream
                    side.outcomes = .sink(outcomes)
                    side.observer = ConnectionEnds(ended)
                    return (try? HTTP2Provider(side)).map { .init($0, outcomes: outcomes) }
                }
            ]
        )
        let harness = GatewayHarness(
            credentials: credentials,
            apns: apns,
            recorder: recorder,
            gateway: gateway,
            events: events,
            watch: watch
        )
        do {
            try await body(harness)
        } catch {
            _ = await gateway.shutDown(within: .zero)
            _ = await provider.shutDown(within: .zero)
            await apns.stop()
            throw error
        }
        _ = await gateway.shutDown(within: .zero)
        _ = await provider.shutDown(within: .zero)
        await apns.stop()
    }

    private init(
        credentials: TestCredentials,
        apns: SimulatedAPNs,
        recorder: APNsMemoryRecorder,
        gateway: Gateway,
        events: GatewayEvents,
        watch: UpstreamWatch
    ) {
        self.credentials = credentials
        self.apns = apns
        self.recorder = recorder
        self.gateway = gateway
        self.events = events
        self.watch = watch
    }

    /// Ferry's own client of the binary protocol.
    var client: BinaryConfiguration {
        var configuration = BinaryConfiguration(
            host: self.gateway.host,
            port: self.gateway.port,
            identity: self.credentials.client,
            outcomes: .discard
        )
        configuration.trustRoots = self.credentials.trustRoots
        configuration.serverName = "localhost"
        configuration.options.settleTime = .milliseconds(500)
        return configuration
    }

    static func device(_ number: Int) throws -> DeviceToken {
        try DeviceToken((0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) })
    }
}

/// Says when a connection of a provider ended.
struct ConnectionEnds: ProviderObserver {
    private let ended: @Sendable () -> Void

    init(_ ended: @escaping @Sendable () -> Void) { self.ended = ended }

    func observed(_ activity: ProviderActivity) {
        if activity.disconnected > 0 { self.ended() }
    }
}

/// What the gateway wrote down.
final class GatewayEvents: Sendable {
    private let events = Mutex<[GatewayEvent]>([])

    func append(_ event: GatewayEvent) { self.events.withLock { $0.append(event) } }

    var all: [GatewayEvent] { self.events.withLock { $0 } }

    var refusedTokens: [[UInt8]] {
        self.all.compactMap { if case .refused(let refusal) = $0 { refusal.token } else { nil } }
    }
}
