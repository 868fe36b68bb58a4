import Ferry
import Hummingbird
import PushAPI

/// Serves the API on port 8080, and sends over HTTP/2 to APNs for development.
///
///     APNS_KEY=AuthKey.p8 APNS_KEY_ID=ABCDE12345 APNS_TEAM_ID=FGHIJ67890 APNS_TOPIC=com.example.app \
///         swift run PushServer
@main
struct PushServer {
    static func main() async throws {
        let environment = Environment()
        let tokens = try ProviderTokenSource(
            key: ES256Key(path: environment.require("APNS_KEY")),
            keyID: environment.require("APNS_KEY_ID"),
            teamID: environment.require("APNS_TEAM_ID")
        )
        let configuration = HTTP2Configuration(
            production: false,
            credentials: .token(tokens),
            topic: try environment.require("APNS_TOPIC"),
            outcomes: .discard
        )
        try await makeApplication(provider: HTTP2Provider(configuration)).runService()
    }
}
