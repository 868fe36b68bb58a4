import Ferry
import FerryBinary
import FerryCore
import FerryForwarding
import FerryGateway
import FerryShards
import FerryTesting
import Testing

/// A process of a gateway on several machines, before a simulated APNs.
struct TestProcess {
    static let topic = "com.example.app"

    let credentials: TestCredentials
    let recorder: APNsMemoryRecorder
    let process: ShardProcess
    let apns: SimulatedAPNs
    let events: ShardEvents

    init(
        _ database: ShardDatabase,
        _ node: String,
        credentials: TestCredentials? = nil,
        client: String = "app",
        feedback: Bool = false
    ) async throws {
        let (recorder, events) = (APNsMemoryRecorder(), ShardEvents())
        let credentials = try credentials ?? TestCredentials()
        var simulated = SimulatedAPNs.Configuration(credentials: credentials)
        simulated.recorder = recorder
        let apns = try await SimulatedAPNs.start(simulated)
        let tokens = try credentials.tokenSource()
        var gateway = Gateway.Configuration(
            identity: credentials.server,
            clients: GatewayClients([(.fingerprints([credentials.client.summary.fingerprint]), 0)]),
            identities: [ClientIdentity(name: client, routes: [0])],
            routes: [Route(upstream: 0, topic: Array(Self.topic.utf8))]
        )
        gateway.upstreams = [GatewayTables.Upstream(name: "apns")]
        if feedback { gateway.feedbackPort = 0 }
        let setup = ShardProcess.Setup(
            connection: database.connection,
            node: node,
            gateway: gateway,
            onEvent: { events.append($0) }
        ) { right in
            var forwarding = credentials.http2(to: apns, tokens, outcomes: .discard)
            forwarding.right = right
            return [try GatewayUpstream.over(http2: forwarding)]
        }
        self.credentials = credentials
        self.recorder = recorder
        self.events = events
        self.apns = apns
        self.process = ShardProcess(setup)
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
        let client = self.credentials.binary(host: gateway.host, port: gateway.port, outcomes: .discard)
        let notification = try PushNotification(Payload(alert: "Hello"))
        let before = try await gateway.counts.accepted
        let provider = try BinaryProvider(client)
        for number in first..<(first + count) {
            var batch = PushBatch()
            try batch.append(notification, to: DeviceToken([1, 2, UInt8(shard), UInt8(number)]), tag: 0)
            try await provider.submit(&batch)
        }
        _ = await provider.shutDown(within: .seconds(60))
        while try await gateway.counts.accepted < before + count { try await Task.sleep(for: .milliseconds(20)) }
    }
}

final class ShardEvents: Sendable {
    private let list = Locked<[ShardEvent]>([])

    func append(_ event: ShardEvent) { self.list.withLock { $0.append(event) } }

    var all: [ShardEvent] { self.list.withLock { $0 } }
}
