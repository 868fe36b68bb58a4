package import FerryOpenSSL
package import FerryServer

extension Listener.Configuration {
    /// The receive buffer in bytes of connections that may stop being read. With a larger one, a client on the same
    /// machine would notice much later than over a network that it is not read.
    static let smallBuffer = 4096

    /// Creates the configuration of a simulated service. The default limits close a connection soon after its end: it
    /// has lingered before, or has no more bytes to send.
    package init(host: String, port: Int, tls: TLSContext?, limits: ServerLimits = .simulated) {
        self.init()
        self.host = host
        self.port = port
        self.tls = tls
        self.limits = limits
    }
}

extension ServerLimits {
    /// The limits of a simulated service, with a short wait for the peer's close_notify.
    package static var simulated: ServerLimits {
        var limits = ServerLimits()
        limits.closing = .milliseconds(250)
        return limits
    }
}

extension TLSContext {
    /// Creates the TLS context of a simulated service.
    ///
    /// - Parameters:
    ///   - handshake: with `refuseClient`, every client certificate is refused.
    ///   - requiresClient: if true, a client must show a certificate of the credentials' authority.
    ///   - otherwise: the client certificates that are accepted otherwise.
    /// - Throws: `TLSError` when the credentials cannot be used.
    package static func simulated(
        as credentials: TestCredentials,
        handshake: GatewayScript.Handshake = .normal,
        requiresClient: Bool = false,
        otherwise: ClientCertificates = .requested,
        profile: TLSProfile = .modern,
        maximum: TLSVersion = .tls12,
        protocols: [String] = []
    ) throws(TLSError) -> TLSContext {
        let clients: ClientCertificates =
            if handshake == .refuseClient {
                .verified { _ in false }
            } else {
                requiresClient ? .required(credentials.trustRoots) : otherwise
            }
        return try TLSContext(
            server: .init(
                identity: credentials.server,
                profile: profile,
                maximum: maximum,
                clientCertificates: clients,
                applicationProtocols: protocols
            )
        )
    }
}
