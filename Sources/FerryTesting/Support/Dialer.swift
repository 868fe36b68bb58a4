internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore
internal import NIOPosix

/// Makes connections whose pipeline is that of an accepted one: socket, TLS, handler. Safe from any thread.
struct Dialer: Sendable {
    private let host: String
    private let port: Int
    private let serverName: String
    private let context: TLSContext?
    private let timeout: Duration
    private let limits: ServerLimits

    /// - Parameters:
    ///   - tls: nil: none.
    ///   - timeout: for TCP.
    ///   - limits: for the TLS handshake after it, and for the end.
    /// - Throws: `TLSError` when the credentials are of no use.
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

    /// Connects.
    ///
    /// - Parameter handler: makes what handles the connection's bytes; told whether it waits for a handshake. Runs on the
    ///   event loop.
    /// - Returns: what fails when there is no connection. It says nothing of the handshake.
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
