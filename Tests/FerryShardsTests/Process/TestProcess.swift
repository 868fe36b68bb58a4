import Ferry
import FerryBinary
import FerryCore
import FerryForwarding
import FerryGateway
import FerryMachine
import FerryShards
import FerryTesting
import Testing

/// A process of a gateway on several machines, before a simulated APNs.
struct TestProcess {
    static let topic = "com.example.app"
    /// The first bytes of the tokens whose answer is lost, twice in all.
    private static let lost: [UInt8] = [9, 9, 9]

    let credentials: TestCredentials
    let recorder: APNsMemoryRecorder
    let process: ShardProcess
    let apns: SimulatedAPNs
    let events: ShardEvents
    private let upstream: @Sendable (ForwardingRight?) throws -> GatewayUpstream

    init(
        _ database: ShardDatabase,
        _ node: String,
        credentials: TestCredentials? = nil,
        client: String = "app",
        feedback: Bool = false,
        list: ListFile? = nil
    ) async throws {
        let (recorder, events) = (APNsMemoryRecorder(), ShardEvents())
        let credentials = try credentials ?? TestCredentials()
        var simulated = SimulatedAPNs.Configuration(credentials: credentials)
        simulated.recorder = recorder
        simulated.script.rules = [HTTP2Rule(prefix: Self.lost, times: 2, action: .loseAnswer)]
        let apns = try await SimulatedAPNs.start(simulated)
        let tokens = try credentials.tokenSource()
        let upstream: @Sendable (ForwardingRight?) throws -> GatewayUpstream = { right in
            var forwarding = credentials.http2(to: apns, tokens, outcomes: .discard)
            if let right { forwarding.right = right }
            return try GatewayUpstream.over(http2: forwarding)
        }
        var gateway = Self.configuration(credentials, client: client)
        if feedback { gateway.feedbackPort = 0 }
        gateway.list = list
        let setup = ShardProcess.Setup(
            connection: database.connection,
            node: node,
            gateway: gateway,
            onEvent: { events.append($0) }
        ) { try upstream($1) }
        self.upstream = upstream
        self.credentials = credentials
        self.recorder = recorder
        self.events = events
        self.apns = apns
        self.process = ShardProcess(setup)
    }

    private static func configuration(_ credentials: TestCredentials, client: String) -> Gateway.Configuration {
        var gateway = Gateway.Configuration(
            identity: credentials.server,
            clients: GatewayClients([(.fingerprints([credentials.client.summary.fingerprint]), 0)]),
            identities: [ClientIdentity(name: client, routes: [0])],
            routes: [Route(upstream: 0, topic: Array(Self.topic.utf8))]
        )
        gateway.upstreams = [GatewayTables.Upstream(name: "apns")]
        gateway.identities[0].repeatsUnknown = false
        return gateway
    }

    /// Takes a configuration with this client alone.
    ///
    /// - Parameters:
    ///   - port: the port of shard 0.
    ///   - settings: with other settings, the upstream gets other providers.
    @discardableResult
    func reload(client: String, port: Int = 0, settings: UInt8 = 0) async throws -> Gateway.Reloaded {
        var gateway = Self.configuration(self.credentials, client: client)
        gateway.port = port
        gateway.upstreams[0].settings = [settings]
        let upstream = self.upstream
        return try await self.process.reload(gateway) { try upstream($1) }
    }

    /// Runs the process while `body` runs.
    func run(_ body: (ShardProcess) async throws -> Void) async throws {
        do {
            try await self.process.start()
            try await body(self.process)
        } catch {
            await self.stop()
            throw error
        }
        await self.stop()
    }

    func stop() async {
        await self.process.shutDown()
        await self.apns.stop()
    }

    /// Waits until the process serves these shards.
    func waitFor(shards: Set<Int>) async throws {
        while await Set(self.process.gateways.keys) != shards { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Sends notifications to a shard, and waits until its gateway has their answers.
    ///
    /// - Parameter first: the number of the first one. After a crash, a gateway takes equal notifications for copies.
    func push(_ count: Int, to shard: Int, from first: Int = 0) async throws {
        let gateway = try #require(await self.process.gateways[shard])
        let before = try await gateway.counts.accepted
        let tokens = (first..<(first + count)).map { [1, 2, UInt8(shard), UInt8($0)] }
        let provider = try await self.submit(tokens, to: gateway)
        _ = await provider.shutDown(within: .seconds(60))
        while try await gateway.counts.accepted < before + count { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Sends notifications to a shard, which APNs does not answer.
    func leave(_ count: Int, in shard: Int) async throws {
        let gateway = try #require(await self.process.gateways[shard])
        let provider = try await self.submit((0..<count).map { [1, 2, UInt8(shard), UInt8($0)] }, to: gateway)
        while try await gateway.counts.unanswered < count { try await Task.sleep(for: .milliseconds(20)) }
        _ = await provider.shutDown(within: .zero)
    }

    /// Sends a notification to a shard, whose answer is lost.
    func lose(in shard: Int) async throws {
        let gateway = try #require(await self.process.gateways[shard])
        let provider = try await self.submit([Self.lost + [UInt8(shard)]], to: gateway)
        while try await gateway.counts.unknown == 0 { try await Task.sleep(for: .milliseconds(20)) }
        _ = await provider.shutDown(within: .zero)
    }

    private func submit(_ tokens: [[UInt8]], to gateway: Gateway) async throws -> BinaryProvider {
        let client = self.credentials.binary(host: gateway.host, port: gateway.port, outcomes: .discard)
        let notification = try PushNotification(Payload(alert: "Hello"))
        let provider = try BinaryProvider(client)
        for token in tokens {
            var batch = PushBatch()
            try batch.append(notification, to: DeviceToken(token), tag: 0)
            try await provider.submit(&batch)
        }
        return provider
    }
}

final class ShardEvents: Sendable {
    private let list = Locked<[ShardEvent]>([])

    func append(_ event: ShardEvent) { self.list.withLock { $0.append(event) } }

    var all: [ShardEvent] { self.list.withLock { $0 } }
}
