// A service that sends over the protocol that its environment names, and ends in the right order.
//
//     swift run ServiceFromEnvironment
//     APNS_PROTOCOL=binary APNS_HOST=gateway.example.com APNS_CERT=push.pem swift run ServiceFromEnvironment TOKEN
//
// With a device token it sends to the server of the environment. Without one it runs twice against simulated servers,
// once for each protocol, so it needs no credentials.

import Ferry
import FerryTesting
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

@main
struct ServiceFromEnvironment {
    static func main() async throws {
        do {
            if let token = CommandLine.arguments.dropFirst().first {
                let environment = Environment(ProcessInfo.processInfo.environment)
                _ = try await serve(environment, to: [DeviceToken(hex: token)])
            } else {
                try await simulate()
            }
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    /// Runs the services until the messages have ended, or until SIGTERM.
    static func serve(_ environment: Environment, to devices: [DeviceToken]) async throws -> OutcomeCounts {
        let logger = Logger(label: "reminders")
        let provider = try environment.makeProvider()
        let messages = AsyncStream { continuation in
            for device in devices { continuation.yield(Reminders.Message(device: device, text: "It is nine.")) }
            continuation.finish()
        }
        // A group shuts down in the reverse order: first what sends, then the provider. In the other order the
        // reminders would find a provider that takes nothing more.
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: provider),
                    .init(
                        service: Reminders(messages: messages, provider: provider, logger: logger),
                        successTerminationBehavior: .gracefullyShutdownGroup
                    ),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        try await group.run()
        print("\(type(of: provider)): \(provider.counts)")
        return provider.counts
    }

    /// Runs the services over each protocol, against a simulated server that knows every device but one.
    static func simulate() async throws {
        let directory = NSTemporaryDirectory() + "ferry-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let credentials = try TestCredentials(directory: directory)
        let devices = try (1...3).map { try DeviceToken(hex: String(repeating: "0\($0)fc", count: 16)) }

        var apnsConfiguration = SimulatedAPNs.Configuration(credentials: credentials)
        apnsConfiguration.script.rules = [.reject([devices[1]])]
        let apns = try await SimulatedAPNs.start(apnsConfiguration)
        let overHTTP2 = try await serve(
            Environment([
                "APNS_HOST": apns.host, "APNS_PORT": "\(apns.port)", "APNS_CA": "\(directory)/ca.pem",
                "APNS_TOPIC": "com.example.ferry", "APNS_KEY": "\(directory)/token-key.p8",
                "APNS_KEY_ID": credentials.keyID, "APNS_TEAM_ID": credentials.teamID,
            ]),
            to: devices
        )
        await apns.stop()

        var gatewayConfiguration = SimulatedGateway.Configuration(credentials: credentials)
        gatewayConfiguration.script.rules = [.reject([devices[1]])]
        let gateway = try await SimulatedGateway.start(gatewayConfiguration)
        let overBinary = try await serve(
            Environment([
                "APNS_PROTOCOL": "binary", "APNS_HOST": gateway.host, "APNS_PORT": "\(gateway.port)",
                "APNS_CA": "\(directory)/ca.pem", "APNS_CERT": "\(directory)/client.pem",
                "APNS_CERT_KEY": "\(directory)/client-key.pem",
            ]),
            to: devices
        )
        await gateway.stop()

        guard overHTTP2.accepted == 2, overBinary.accepted == 2 else { throw Miscount() }
    }

    struct Miscount: Error {}
}
