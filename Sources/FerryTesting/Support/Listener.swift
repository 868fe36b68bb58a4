internal import NIOCore
internal import NIOPosix

/// The socket that a simulated server listens on, and the connections that it accepted. Safe from any thread.
struct Listener: Sendable {
    /// How far apart a server's recorder is flushed.
    private static let flushInterval: TimeAmount = .milliseconds(100)

    /// The address that is bound.
    let host: String
    /// The port that is bound.
    let port: Int
    private let channel: any Channel
    private let open: OpenChannels
    private let flush: (@Sendable () -> Void)?
    private let flushing: RepeatedTask?

    /// Binds an address.
    ///
    /// - Parameters:
    ///   - port: 0 for any.
    ///   - group: where it runs; must outlive it. Nil: SwiftNIO's own.
    ///   - open: gets the connections that are accepted.
    ///   - readsLittle: whether the system holds little of a connection that is not read.
    ///   - flush: called every 100 ms on the listener's event loop, and when it has stopped.
    ///   - accept: builds the pipeline of an accepted connection, on its event loop.
    /// - Throws: a socket error when the address cannot be bound.
    static func bind(
        host: String,
        port: Int,
        on group: (any EventLoopGroup)?,
        open: OpenChannels = OpenChannels(),
        readsLittle: Bool = false,
        flush: (@Sendable () -> Void)? = nil,
        accept: @escaping @Sendable (any Channel) throws -> Void
    ) async throws -> Listener {
        var bootstrap = ServerBootstrap(group: group ?? MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        if readsLittle {
            // Of the listener, so that it holds for the first window that a client is offered.
            bootstrap = bootstrap.serverChannelOption(
                .socketOption(.so_rcvbuf),
                value: SocketOptionValue(SocketHandler.smallBuffer)
            )
        }
        let channel =
            try await bootstrap
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try open.add(channel)
                    try accept(channel)
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: host, port: port)
            .get()
        return Listener(channel, open, flush, host: host)
    }

    private init(_ channel: any Channel, _ open: OpenChannels, _ flush: (@Sendable () -> Void)?, host: String) {
        self.host = host
        self.port = channel.localAddress?.port ?? 0
        self.channel = channel
        self.open = open
        self.flush = flush
        self.flushing = flush.map { flush in
            let interval = Self.flushInterval
            return channel.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in flush() }
        }
    }

    /// Accepts nothing more; the connections stay.
    func close() {
        self.channel.close(promise: nil)
    }

    /// Closes the listener and all connections, without ceremony, and flushes.
    ///
    /// - Parameter limit: how long to wait for the sockets to close; what is then still open closes later by itself.
    func stop(within limit: Duration) async {
        self.flushing?.cancel()
        await self.open.stop(self.channel, within: limit)
        self.flush?()
    }
}
