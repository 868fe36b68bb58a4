import Ferry
import FerryTesting

@main
struct FirstProgram {
    static func main() async throws {
        // A gateway to send to, and certificates that are made for the occasion.
        let credentials = try TestCredentials()
        let gateway = try await SimulatedGateway.start(.init(credentials: credentials))

        // For another gateway: its host and port, TLSIdentity(certificatePath: "push.pem", privateKeyPath: "key.pem"),
        // and trustRoots only if its certificate does not come from an authority that the system knows.
        var configuration = BinaryConfiguration(
            host: gateway.host,
            port: gateway.port,
            identity: credentials.client,
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots

        let notification = try PushNotification(Payload(alert: "Hello", badge: 1))
        let device = try DeviceToken(hex: String(repeating: "00fc", count: 16))

        // Shuts the provider down when the closure returns.
        let outcome = try await withProvider(configuration) { provider in
            try await provider.send(notification, to: device)
        }
        switch outcome {
        case .accepted: print("accepted")
        case .rejected(let rejection): print("rejected: \(rejection.reason.explanation ?? rejection.reason.rawValue)")
        default: print(outcome)
        }
        await gateway.stop()
    }
}
