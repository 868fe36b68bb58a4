internal import FerryBinary
internal import FerryOpenSSL
internal import NIOCore

extension ProviderConnector {
    /// Makes a connector to a gateway of the binary protocol.
    init(_ configuration: BinaryConfiguration) throws {
        self.init(
            tls: try TLSConnector(
                host: configuration.host,
                port: configuration.port,
                serverName: configuration.serverName,
                client: .init(
                    trustRoots: configuration.trustRoots,
                    identity: configuration.identity,
                    profile: configuration.tlsProfile,
                    versions: configuration.tlsProfile.widened(configuration.tlsVersions)
                ),
                rejectUnauthorized: configuration.rejectUnauthorized,
                connectTimeout: configuration.options.connectTimeout,
                source: configuration.addressSource,
                embedding: configuration.embedding
            ),
            stallLimit: Silence.stallLimit,
            // The gateway may still send error responses, so the input stays open.
            finishing: .output
        )
    }
}
