internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryProxy
internal import NIOCore
internal import NIOPosix

/// The settings that all connections to one peer share: address, TLS, and the messages for failures.
struct TLSConnector: Sendable {
    let host: String
    let port: Int
    /// The limit for one connection: name look-up, TCP, the proxy's answer and TLS, for all addresses together.
    let connectTimeout: TimeAmount
    /// The proxy in front of the peer, if there is one.
    let proxy: HTTPProxy?
    /// The addresses of the proxy if there is one, else of the peer.
    let addresses: HostAddresses
    /// Notes the sockets of connections. Nil in a Swift program.
    let sockets: OpenSockets?
    private let serverName: String
    private let context: TLSContext
    private let showsCertificate: Bool
    private let isOfHTTP2: Bool
    /// The peer's name in error messages.
    let peer: String

    /// - Parameters:
    ///   - rejectUnauthorized: false accepts any certificate of the server.
    ///   - proxy: the proxy in front of the peer, if there is one.
    ///   - source: resolves host names.
    ///   - embedding: nil in a Swift program.
    init(
        host: String,
        port: Int,
        serverName: String?,
        client: TLSContext.Client,
        rejectUnauthorized: Bool,
        connectTimeout: Duration,
        proxy: HTTPProxy? = nil,
        source: @escaping HostAddresses.Source = Resolver.addresses,
        embedding: Embedding? = nil
    ) throws {
        for host in [host, proxy?.host].compactMap(\.self) where !Self.isHost(host) {
            throw ConfigurationError(
                .malformedHost,
                "The host is neither a name nor an address: write it without \"https://\", user, port and path."
            )
        }
        guard 1...65_535 ~= port else {
            throw ConfigurationError(.invalidPort, "The port of \(host) is not 1 to 65535.")
        }
        self.host = host
        self.port = port
        self.proxy = proxy
        self.addresses = HostAddresses(
            host: proxy?.host ?? host,
            port: proxy?.port ?? port,
            source: { host, port in
                guard let embedding else { return try source(host, port) }
                return try embedding.lookUp { try source(host, port) }
            },
            pool: { embedding?.lookupPool ?? .singleton }
        )
        self.sockets = embedding?.sockets
        self.serverName = serverName ?? host
        self.connectTimeout = TimeAmount(connectTimeout)
        self.showsCertificate = client.identity != nil
        self.isOfHTTP2 = !client.applicationProtocols.isEmpty
        self.peer = "\(host):\(port)" + (proxy.map { " (through the proxy \($0))" } ?? "")
        if rejectUnauthorized {
            self.context = try TLSContext(client: client)
        } else {
            self.context = try TLSContext(testingWithoutVerification: client)
        }
    }

    /// Whether the text may be a host name, or is an address. Part of a URL could hold a password, which messages would
    /// show.
    private static func isHost(_ host: String) -> Bool {
        guard !host.isEmpty, !host.contains(where: { "/@".contains($0) || $0.isWhitespace }) else { return false }
        // A scope like "%eth0" is not part of the address.
        let address = host.prefix { $0 != "%" }
        return !host.contains(":") || (try? SocketAddress(ipAddress: String(address), port: 0)) != nil
    }

    /// Makes a bootstrap with the TCP options of every connection.
    func bootstrap(on eventLoop: any EventLoop) -> ClientBootstrap {
        ClientBootstrap(group: eventLoop)
            .connectTimeout(self.connectTimeout)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
    }

    func makeHandler() throws(TLSError) -> TLSHandler {
        var limits = TLSHandler.Limits()
        limits.handshake = .nanoseconds(self.connectTimeout.nanoseconds)
        limits.shutdown = .seconds(2)
        return try TLSHandler(client: self.context, serverName: self.serverName, limits: limits)
    }

    /// Returns an error if the peer refused the client certificate, and nil if `error` means something else.
    ///
    /// Before the end of the handshake every `certificateRejected` means a refusal. After it, the peer can refuse only
    /// under TLS 1.3, because up to 1.2 the end of the handshake accepts the certificate. The alert must then be one
    /// that can mean a refusal, and must come before any data from the peer.
    ///
    /// - Parameters:
    ///   - version: the negotiated version. Nil while the handshake is not complete.
    ///   - hasReceived: whether the peer has sent data since the handshake.
    func refusal(_ error: (any Error)?, version: TLSVersion?, hasReceived: Bool) -> ProviderError? {
        guard let tls = error as? TLSError, tls.code == .certificateRejected else { return nil }
        if let version {
            guard version == .tls13, !hasReceived, let alert = tls.alert?.lowercased(),
                ["certificate", "unknown ca", "decrypt error", "access denied", "handshake failure"].contains(
                    where: alert.contains
                )
            else { return nil }
        }
        let alert = tls.alert.map { " (alert \"\($0)\")" } ?? ""
        guard self.showsCertificate else {
            let advice =
                self.isOfHTTP2
                ? "; or check host and port, because APNs takes provider tokens without a certificate" : ""
            let message =
                "\(self.peer) wants a client certificate\(alert), and none was shown. Give the provider certificate and its "
                + "key\(advice)."
            return ProviderError(.credentialsRejected, message, cause: tls)
        }
        let message =
            "\(self.peer) refused the client certificate\(alert). Check that it is the provider certificate of "
            + "this app and environment, and that it has not expired or been revoked."
        return ProviderError(.credentialsRejected, message, cause: tls)
    }

    /// The error for an established connection that failed.
    func lost(_ error: any Error) -> ProviderError {
        let reason = (error as? TLSError)?.description ?? "\(Self.reason(error))."
        return ProviderError(.connectionLost, "The connection to \(self.peer) failed: \(reason)", cause: error)
    }

    /// The cause of an error, as part of a sentence.
    static func reason(_ error: any Error) -> String {
        if let io = error as? IOError { return String(cString: strerror(io.errnoCode)) }
        return "\(error)"
    }
}
