internal import FerryCore
internal import FerryOpenSSL
internal import NIOCore
internal import NIOPosix

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// What all connections to one peer have in common: where it is, TLS to it, and what a failure means.
struct TLSConnector: Sendable {
    let host: String
    let port: Int
    /// For one connection: name look-up, TCP, a proxy's answer and TLS, with all addresses.
    let connectTimeout: TimeAmount
    /// What stands between, if anything does.
    let proxy: HTTPProxy?
    /// Of the peer, or of the proxy.
    let addresses: HostAddresses
    private let serverName: String
    private let context: TLSContext
    private let showsCertificate: Bool
    /// The peer as errors name it.
    let peer: String

    /// - Parameters:
    ///   - rejectUnauthorized: false believes any server.
    ///   - proxy: what stands between, if anything does.
    ///   - source: where addresses come from.
    init(
        host: String,
        port: Int,
        serverName: String?,
        client: TLSContext.Client,
        rejectUnauthorized: Bool,
        connectTimeout: Duration,
        proxy: HTTPProxy? = nil,
        source: @escaping HostAddresses.Source = Resolver.addresses
    ) throws {
        guard 1...65_535 ~= port else {
            throw ConfigurationError(.invalidPort, "The port of \(host) is not 1 to 65535.")
        }
        self.host = host
        self.port = port
        self.proxy = proxy
        self.addresses = HostAddresses(host: proxy?.host ?? host, port: proxy?.port ?? port, source: source)
        self.serverName = serverName ?? host
        self.connectTimeout = TimeAmount(connectTimeout)
        self.showsCertificate = client.identity != nil
        self.peer = "\(host):\(port)" + (proxy.map { " (through the proxy \($0))" } ?? "")
        if rejectUnauthorized {
            self.context = try TLSContext(client: client)
        } else {
            self.context = try TLSContext(testingWithoutVerification: client)
        }
    }

    /// Host and port, as HTTP names them.
    var target: String { (self.host.contains(":") ? "[\(self.host)]" : self.host) + ":\(self.port)" }

    /// TCP with the options that every connection has.
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

    /// The error that says that the peer refused the client certificate, if that is what `error` means.
    ///
    /// Before the end of the handshake every such error means it. After it only under TLS 1.3, for an alert that can
    /// mean it, and before the peer said anything: up to 1.2 the end of the handshake has accepted the certificate.
    ///
    /// - Parameters:
    ///   - version: as agreed on; nil while the handshake is not done.
    ///   - hasReceived: whether the peer has said anything since.
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
            let message = "\(self.peer) wants a client certificate\(alert), and none was shown."
            return ProviderError(.credentialsRejected, message, cause: tls)
        }
        let message =
            "\(self.peer) refused the client certificate\(alert). Check that it is the provider certificate of "
            + "this app and environment, and that it has not expired or been revoked."
        return ProviderError(.credentialsRejected, message, cause: tls)
    }

    /// What it means that an established connection failed.
    func lost(_ error: any Error) -> ProviderError {
        let reason = (error as? TLSError)?.description ?? "\(Self.reason(error))."
        return ProviderError(.connectionLost, "The connection to \(self.peer) failed: \(reason)", cause: error)
    }

    /// The cause of an error, as a part of a sentence.
    static func reason(_ error: any Error) -> String {
        if let io = error as? IOError { return String(cString: strerror(io.errnoCode)) }
        return "\(error)"
    }
}
