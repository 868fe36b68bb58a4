import Ferry
import FerryTesting

@main
struct FirstProgram {
    static func main() async throws {
        // An APNs to send to, and credentials that are made for the occasion.
        let credentials = try TestCredentials()
        let apns = try await SimulatedAPNs.start(.init(credentials: credentials))

        // For APNs itself: ES256Key(path: "AuthKey_ABCDE12345.p8") with its IDs, your app's bundle ID as the topic,
        // HTTP2Configuration(production:credentials:topic:outcomes:), and no trustRoots.
        let tokens = try ProviderTokenSource(
            key: credentials.tokenKey,
            keyID: credentials.keyID,
            teamID: credentials.teamID
        )
        var configuration = HTTP2Configuration(
            host: apns.host,
            port: apns.port,
            credentials: .token(tokens),
            topic: "com.example.app",
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots

        let notification = try PushNotification(Payload(alert: "Hello", badge: 1))
        let device = try DeviceToken(hex: String(repeating: "00fc", count: 16))

        // Shuts the provider down when the closure returns.
        let (outcome, trouble) = try await withProvider(configuration) { provider in
            (try await provider.send(notification, to: device), provider.lastError)
        }
        switch outcome {
        case .accepted: print("accepted")
        case .rejected(let rejection): print("rejected: \(rejection.reason.explanation ?? rejection.reason.rawValue)")
        default: print(outcome, trouble?.message ?? "")
        }
        await apns.stop()
    }
}
