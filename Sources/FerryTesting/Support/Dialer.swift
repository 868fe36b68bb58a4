internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore
internal import NIOPosix

/// A maker of outgoing connections. Their pipeline is that of an accepted connection: socket, TLS, handler. Safe from
/// any thread.
struct Dialer: Sendable {
    private let host: String
    private let port: Int
    private let serverName: String
    private let context: TLSContext?
    private let timeout: Duration
    private let limits: ServerLimits

    /// - Parameters:
    ///   - tls: the TLS settings; nil: no TLS.
    ///   - timeout: the time limit for the TCP connection.
    ///   - limits: the time limits for the TLS handshake and for closing.
    /// - Throws: `TLSError` when the credentials cannot be used.
    init(
        host: String,
        port: Int,
        tls: ReplaySocket.ClientTLS?,
        timeout: Duration,
        limits: ServerLimits = .simulated
    ) throws(TLSError) {
        self.host = host
        self.port = port
        self.serverName = tls?.serverName ?? host
        self.context = try tls.map { tls throws(TLSError) in
            try TLSContext(client: .init(trustRoots: tls.trustRoots, identity: tls.identity))
        }
        self.timeout = timeout
        self.limits = limits
    }

    /// Opens a connection.
    ///
    /// - Parameter handler: makes the handler of the connection's bytes. Its last argument says whether a TLS handshake
    ///   comes first. Runs on the event loop.
    /// - Returns: a future that fails if there is no TCP connection. It succeeds before the TLS handshake.
    func connect(
        on eventLoop: any EventLoop,
        handler: @escaping @Sendable (any Channel, SocketHandler, _ isSecure: Bool) throws -> any ChannelHandler
    ) -> EventLoopFuture<any Channel> {
        ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(self.timeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let socket = SocketHandler()
                    let tls = try self.context.map {
                        try TLSHandler(client: $0, serverName: self.serverName, limits: self.limits.tls)
                    }
                    let last = try handler(channel, socket, tls != nil)
                    let handlers: [any ChannelHandler] = tls.map { [socket, $0, last] } ?? [socket, last]
                    try channel.pipeline.syncOperations.addHandlers(handlers)
                }
            }
            .connect(host: self.host, port: self.port)
    }
}
