internal import FerryOpenSSL
internal import FerryServer

extension Listener.Configuration {
    /// Of a connection that may stop being read, so little waits between the client and the service: a client sees soon
    /// that it is not read, as it would over a network.
    static let smallBuffer = 4096

    /// A simulated service's address and TLS. Connections are closed soon after the last word: they have lingered then,
    /// or have nothing more to say.
    init(host: String, port: Int, tls: TLSContext?, limits: ServerLimits = .simulated) {
        self.init()
        self.host = host
        self.port = port
        self.tls = tls
        self.limits = limits
    }
}

extension ServerLimits {
    /// A peer's close_notify is not waited for long.
    static var simulated: ServerLimits {
        var limits = ServerLimits()
        limits.closing = .milliseconds(250)
        return limits
    }
}

extension TLSContext {
    /// The server's side of a simulated service.
    ///
    /// - Parameters:
    ///   - handshake: with `refuseClient`, no certificate of a client is taken.
    ///   - requiresClient: whether a client must show a certificate that its authority vouches for.
    ///   - otherwise: which certificates are taken if not.
    /// - Throws: `TLSError` when the credentials are of no use.
    static func simulated(
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
