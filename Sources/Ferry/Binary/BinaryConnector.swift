internal import FerryBinary
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

/// Makes connections to one gateway: TCP with the right options, TLS, and the handlers.
struct BinaryConnector: Sendable {
    /// Bytes that may wait between TLS and the kernel before writing stops: with the chunk that passes it, 256 KiB.
    static let channelLimit = ChannelOptions.Types.WriteBufferWaterMark(low: 96 << 10, high: 160 << 10)
    /// Bytes that may wait, unsent, in the kernel: what a peer that stops reading can swallow beyond its own buffer.
    static let unsentLimit = 128 << 10
    static let keepAlive: Duration = .seconds(60)
    /// What `connectTimeout` 0 means: as long as Linux itself tries (127 s, six repeats of the SYN).
    static let connectLimit: TimeAmount = .seconds(127)

    let host: String
    let port: Int
    let serverName: String
    let connectTimeout: TimeAmount
    private let context: TLSContext

    init(_ configuration: BinaryConfiguration) throws(TLSError) {
        self.host = configuration.host
        self.port = configuration.port
        self.serverName = configuration.serverName ?? configuration.host
        let timeout = TimeAmount(configuration.options.connectTimeout)
        self.connectTimeout = timeout > .zero ? timeout : Self.connectLimit
        let client = TLSContext.Client(
            trustRoots: configuration.trustRoots,
            identity: configuration.identity,
            versions: configuration.tlsVersions
        )
        if configuration.rejectUnauthorized {
            self.context = try TLSContext(client: client)
        } else {
            self.context = try TLSContext(testingWithoutVerification: client)
        }
    }

    var peer: String { "\(self.host):\(self.port)" }

    /// Connects. The handler reports to `driver`; when that is not to be, the future fails.
    func connect(_ id: ConnectionID, for driver: BinaryDriver) -> EventLoopFuture<any Channel> {
        let eventLoop = driver.eventLoop
        return ClientBootstrap(group: eventLoop)
            .connectTimeout(self.connectTimeout)
            .channelOption(.writeBufferWaterMark, value: Self.channelLimit)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try self.configure(channel, id, driver)
                }
            }
            .connect(host: self.host, port: self.port)
    }

    private func configure(_ channel: any Channel, _ id: ConnectionID, _ driver: BinaryDriver) throws {
        var limits = TLSHandler.Limits()
        limits.handshake = .nanoseconds(self.connectTimeout.nanoseconds)
        limits.shutdown = .seconds(2)
        let transport = TransportHandler()
        let tls = try TLSHandler(client: self.context, serverName: self.serverName, limits: limits)
        let handler = BinaryConnectionHandler(id: id, driver: driver, transport: transport, tls: tls, peer: self.peer)
        try channel.pipeline.syncOperations.addHandlers([transport, tls, handler])
        guard let options = channel.syncOptions else { return }
        for (name, value) in Self.tcpOptions {
            // Not every system has every option, and a connection without one is better than none.
            try? options.setOption(ChannelOptions.Types.SocketOption(level: .tcp, name: name), value: value)
        }
        guard driver.isDialing(id) else { throw ChannelError.connectTimeout(self.connectTimeout) }
    }

    private static var tcpOptions: [(NIOBSDSocket.Option, Int)] {
        #if os(Linux)
        [
            (NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT), Self.unsentLimit),
            (NIOBSDSocket.Option(rawValue: TCP_USER_TIMEOUT), Int(Silence.stallLimit.nanoseconds / 1_000_000)),
            (NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE), Int(Self.keepAlive.components.seconds)),
            (NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL), 10),
        ]
        #else
        []
        #endif
    }

    /// What it means that a connection was not made.
    static func error(_ error: (any Error)?, peer: String) -> ProviderError {
        guard let error else {
            return ProviderError(.connectFailed, "\(peer) closed the connection before it was established.")
        }
        if let tls = error as? TLSError {
            let message = "No TLS connection to \(peer): \(tls.description)"
            return switch tls.code {
            case .untrustedPeer, .peerNameMismatch, .peerCertificateMissing:
                ProviderError(.peerNotTrusted, message, cause: tls)
            case .handshakeTimeout:
                ProviderError(.connectTimeout, message, cause: tls)
            default:
                ProviderError(.connectFailed, message, cause: tls)
            }
        }
        if case .connectTimeout = error as? ChannelError {
            return ProviderError(.connectTimeout, "\(peer) did not answer in time.", cause: error)
        }
        return ProviderError(.connectFailed, "No connection to \(peer): \(Self.reason(error)).", cause: error)
    }

    private static func reason(_ error: any Error) -> String {
        if let connection = error as? NIOConnectionError {
            if let failure = connection.connectionErrors.first { return self.reason(failure.error) }
            return "the host name cannot be resolved"
        }
        if let io = error as? IOError { return String(cString: strerror(io.errnoCode)) }
        return "\(error)"
    }
}
