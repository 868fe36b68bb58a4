package import Ferry
internal import FerryTerminal
package import FerryTesting
internal import Logging

/// The configurations of providers that send to simulated servers with these credentials.
extension TestCredentials {
    /// Creates a source of the provider tokens that the simulated APNs accepts.
    package func tokenSource() throws -> ProviderTokenSource {
        try ProviderTokenSource(key: self.tokenKey, keyID: self.keyID, teamID: self.teamID)
    }

    /// The configuration of a provider that sends to the simulated APNs over HTTP/2.
    package func http2(
        to apns: SimulatedAPNs,
        _ tokens: ProviderTokenSource,
        topic: String? = nil,
        outcomes: OutcomeDelivery
    ) -> HTTP2Configuration {
        var configuration = HTTP2Configuration(
            host: apns.host,
            port: apns.port,
            credentials: .token(tokens),
            topic: topic,
            outcomes: outcomes
        )
        configuration.logger = .silent
        configuration.trustRoots = self.trustRoots
        configuration.serverName = "localhost"
        return configuration
    }

    /// The configuration of a client of the binary protocol.
    package func binary(host: String, port: Int, outcomes: OutcomeDelivery) -> BinaryConfiguration {
        var configuration = BinaryConfiguration(host: host, port: port, identity: self.client, outcomes: outcomes)
        configuration.logger = .silent
        configuration.trustRoots = self.trustRoots
        configuration.serverName = "localhost"
        return configuration
    }
}
