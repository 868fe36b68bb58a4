// Sends over the binary protocol and over HTTP/2 with the same function: only the configuration knows the protocol.
//
//     swift run OneProgramBothProtocols

import Ferry
import FerryTesting
import Foundation

@main
struct OneProgramBothProtocols {
    static let topic = "com.example.ferry"

    static func main() async throws {
        let credentials = try TestCredentials(topic: topic)
        let devices = try (0..<1000).map { number in
            try DeviceToken((0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) })
        }
        let bad: Set = [devices[7], devices[770]]
        try await overBinary(credentials, devices, bad)
        try await overHTTP2(credentials, devices, bad)
    }

    /// Sends one notification to all devices, over the protocol of `provider`.
    static func deliver(to devices: [DeviceToken], with provider: some PushProvider) async throws -> DrainReport {
        // A protocol sends only the fields that it has: the binary protocol has no topic and no push type.
        let notification = try PushNotification(
            Payload(alert: "The shop opens at nine."),
            topic: topic,
            pushType: .alert,
            expiration: .after(.seconds(3600))
        )
        var batch = PushBatch(capacity: devices.count)
        for (index, device) in devices.enumerated() {
            try batch.append(notification, to: device, tag: PushTag(UInt64(index)))
        }
        try await provider.submit(&batch)
        return await provider.shutDown(within: .seconds(30), proof: .automatic)
    }

    static func overBinary(
        _ credentials: TestCredentials,
        _ devices: [DeviceToken],
        _ bad: Set<DeviceToken>
    ) async throws {
        var simulated = SimulatedGateway.Configuration(credentials: credentials)
        simulated.script.rules = [.reject(bad)]
        let gateway = try await SimulatedGateway.start(simulated)
        var configuration = BinaryConfiguration(
            host: gateway.host,
            port: gateway.port,
            identity: credentials.client,
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots
        let report = try await deliver(to: devices, with: BinaryProvider(configuration))
        await gateway.stop()
        try tell("binary", report, expected: devices.count - bad.count)
    }

    static func overHTTP2(
        _ credentials: TestCredentials,
        _ devices: [DeviceToken],
        _ bad: Set<DeviceToken>
    ) async throws {
        var simulated = SimulatedAPNs.Configuration(credentials: credentials)
        simulated.script.rules = [.reject(bad)]
        let apns = try await SimulatedAPNs.start(simulated)
        // The same certificate. A ProviderTokenSource would do as well, and needs no certificate.
        var configuration = HTTP2Configuration(
            host: apns.host,
            port: apns.port,
            credentials: .certificate(credentials.client),
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots
        let report = try await deliver(to: devices, with: HTTP2Provider(configuration))
        await apns.stop()
        try tell("HTTP/2", report, expected: devices.count - bad.count)
    }

    static func tell(_ name: String, _ report: DrainReport, expected: Int) throws {
        let counts = report.outcomes
        print(
            "\(name): \(counts.confirmed) proved and \(counts.presumed) presumed to be accepted, "
                + "\(counts.rejected) rejected, \(report.resent) copies sent again"
        )
        guard counts.accepted == expected else { throw Miscount() }
    }

    struct Miscount: Error {}
}
