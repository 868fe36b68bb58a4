import Ferry
import FerryTesting
import NIOCore
import Synchronization

/// A simulated gateway, a provider that sends to it, and what both saw.
struct Harness: Sendable {
    let credentials: TestCredentials
    let gateway: SimulatedGateway
    let recorder: GatewayMemoryRecorder
    let outcomes = OutcomeCollector()

    /// Starts a gateway, runs `body`, and stops the gateway.
    static func run(
        _ script: GatewayScript = GatewayScript(),
        maximumTLSVersion: TLSVersion = .tls12,
        _ body: (Harness) async throws -> Void
    ) async throws {
        let credentials = try TestCredentials()
        let recorder = GatewayMemoryRecorder()
        var configuration = SimulatedGateway.Configuration(credentials: credentials)
        configuration.script = script
        configuration.maximumTLSVersion = maximumTLSVersion
        configuration.recorder = recorder
        let gateway = try await SimulatedGateway.start(configuration)
        do {
            try await body(Harness(credentials: credentials, gateway: gateway, recorder: recorder))
        } catch {
            await gateway.stop()
            throw error
        }
        await gateway.stop()
    }

    var configuration: BinaryConfiguration {
        var configuration = BinaryConfiguration(
            host: self.gateway.host,
            port: self.gateway.port,
            identity: self.credentials.client
        )
        configuration.trustRoots = self.credentials.trustRoots
        configuration.serverName = "localhost"
        configuration.options.settleTime = .milliseconds(200)
        configuration.outcomes = .sink(self.outcomes)
        return configuration
    }

    /// The device token of notification `number`.
    static func device(_ number: Int) throws -> DeviceToken {
        try DeviceToken((0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * min($0, 7))) })
    }

    static func devices(_ numbers: some Sequence<Int>) throws -> Set<DeviceToken> {
        try Set(numbers.map { try Self.device($0) })
    }

    /// Submits notifications `numbers`, tagged with their number.
    static func submit(_ numbers: Range<Int>, to provider: some PushProvider) async throws {
        let notification = try PushNotification(json: #"{"aps":{"alert":"Hello"}}"#.utf8)
        var batch = PushBatch()
        for number in numbers {
            try batch.append(notification, to: self.device(number), tag: Tag(UInt64(number)))
        }
        try await provider.submit(&batch)
    }

    /// The numbers of the notifications that arrived, and how often.
    var arrived: [Int: Int] {
        get throws {
            var result: [Int: Int] = [:]
            for (device, count) in self.recorder.counts {
                result[device.bytes.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }] = count
            }
            return result
        }
    }
}

/// A sink that keeps every outcome.
final class OutcomeCollector: OutcomeSink {
    private let records = Mutex<[Int: [Outcome]]>([:])

    func settled(_ outcomes: Span<OutcomeRecord>) {
        self.records.withLock { records in
            for index in outcomes.indices {
                records[Int(outcomes[index].tag.rawValue), default: []].append(outcomes[index].outcome)
            }
        }
    }

    var all: [Int: [Outcome]] { self.records.withLock { $0 } }
}
