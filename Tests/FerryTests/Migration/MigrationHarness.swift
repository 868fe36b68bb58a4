import Ferry
import FerryTesting
import Synchronization

/// A simulated gateway and a simulated APNs, a provider that sends to both, and one record of what arrived.
struct MigrationHarness: Sendable {
    /// What arrived, in order.
    final class Record: GatewayRecorder, APNsRecorder {
        struct Arrival: Sendable {
            var device: Int
            var number: Int
            var side: ProviderSide
        }

        private let state = Mutex<[Arrival]>([])

        var arrivals: [Arrival] { self.state.withLock { $0 } }

        func accepted(_ notification: AcceptedNotification, token: Span<UInt8>, payload: Span<UInt8>) {
            self.note(token, payload, .binary)
        }

        func accepted(_ request: AcceptedRequest, token: Span<UInt8>, payload: Span<UInt8>) {
            self.note(token, payload, .http2)
        }

        func flush() {}

        private func note(_ token: Span<UInt8>, _ payload: Span<UInt8>, _ side: ProviderSide) {
            let device = token.withUnsafeBufferPointer { bytes in
                bytes.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
            }
            let digits = payload.withUnsafeBufferPointer { $0.filter { (0x30...0x39).contains($0) } }
            let number = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
            self.state.withLock { $0.append(Arrival(device: device, number: number, side: side)) }
        }
    }

    let gateway: SimulatedGateway
    let apns: SimulatedAPNs
    let record: Record
    let outcomes: OutcomeCollector
    var configuration: MigratingConfiguration

    static func run(
        gateway script: GatewayScript = GatewayScript(),
        apns http2Script: HTTP2Script = HTTP2Script(),
        share: Double,
        _ body: (MigrationHarness) async throws -> Void
    ) async throws {
        let credentials = try TestCredentials()
        let record = Record()
        var server = SimulatedGateway.Configuration(credentials: credentials)
        server.script = script
        server.recorder = record
        let gateway = try await SimulatedGateway.start(server)
        var apnsServer = SimulatedAPNs.Configuration(credentials: credentials)
        apnsServer.script = http2Script
        apnsServer.recorder = record
        let apns = try await SimulatedAPNs.start(apnsServer)
        let outcomes = OutcomeCollector()
        var binary = BinaryConfiguration(
            host: gateway.host,
            port: gateway.port,
            identity: credentials.client,
            outcomes: .discard
        )
        binary.trustRoots = credentials.trustRoots
        binary.serverName = "localhost"
        binary.options.settleTime = .milliseconds(200)
        // A gateway without processor time is silent, too, so silence proves nothing.
        binary.options.finality = .proof
        let source = try ProviderTokenSource(
            key: credentials.tokenKey,
            keyID: credentials.keyID,
            teamID: credentials.teamID
        )
        var http2 = HTTP2Configuration(
            host: apns.host,
            port: apns.port,
            credentials: .token(source),
            topic: "com.example.ferry",
            outcomes: .discard
        )
        http2.trustRoots = credentials.trustRoots
        http2.serverName = "localhost"
        http2.options.circuitBreaker = nil
        // On a loaded machine a short wait would decide an outcome.
        binary.options.connectTimeout = Harness.forever
        http2.options.connectTimeout = Harness.forever
        http2.options.attemptTimeout = Harness.forever
        http2.options.deadline = Harness.forever
        let configuration = MigratingConfiguration(
            binary: binary,
            http2: http2,
            options: MigrationOptions(rule: MigrationRule(share: share)),
            outcomes: .sink(outcomes)
        )
        let harness = MigrationHarness(
            gateway: gateway,
            apns: apns,
            record: record,
            outcomes: outcomes,
            configuration: configuration
        )
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(harness))
        } catch {
            result = .failure(error)
        }
        await gateway.stop()
        await apns.stop()
        try result.get()
    }

    /// Submits one notification for each number, to the devices in turn. The tag is the number.
    static func submit(_ numbers: Range<Int>, devices: Int, to provider: MigratingProvider) async throws {
        var batch = PushBatch()
        for number in numbers {
            try batch.append(
                PushNotification(json: Array(#"{"n":\#(number)}"#.utf8)),
                to: Harness.device(number % devices),
                tag: PushTag(UInt64(number))
            )
        }
        try await provider.submit(&batch)
    }
}
