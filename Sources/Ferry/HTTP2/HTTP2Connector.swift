internal import FerryHTTP2
internal import FerryOpenSSL
internal import FerryProxy
internal import NIOCore

extension ProviderConnector {
    /// How long the peer's TCP may acknowledge nothing before the connection ends. Requests have their own deadline.
    private static let http2StallLimit: TimeAmount = .seconds(30)

    /// Makes a connector to APNs over HTTP/2.
    init(_ configuration: HTTP2Configuration) throws {
        if let fault = configuration.proxy?.fault(connectingTo: configuration.host) {
            throw ConfigurationError(.invalidProxy, fault)
        }
        self.init(
            tls: try TLSConnector(
                host: configuration.host,
                port: configuration.port,
                serverName: configuration.serverName,
                client: .init(
                    trustRoots: configuration.trustRoots,
                    identity: configuration.identity,
                    profile: configuration.tlsProfile,
                    versions: configuration.tlsVersions,
                    // A server that selects no protocol fails the handshake (`TLSEngine.completeHandshake`).
                    applicationProtocols: ["h2"]
                ),
                rejectUnauthorized: configuration.rejectUnauthorized,
                connectTimeout: configuration.options.connectTimeout,
                proxy: configuration.proxy,
                embedding: configuration.embedding
            ),
            stallLimit: Self.http2StallLimit,
            finishing: .all
        )
    }
}
