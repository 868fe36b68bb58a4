package import NIOCore
internal import NIOPosix

/// A socket that listens, and the connections that it accepted. Safe from any thread.
///
/// It must be stopped: dropping the last reference closes nothing.
package final class Listener: Sendable {
    /// The address as it was asked for.
    package let host: String
    /// The port that is bound.
    package let port: Int
    /// Where the listener runs; its connections run on any event loop of the group.
    package var eventLoop: any EventLoop { self.channel.eventLoop }
    private let channel: any Channel
    private let open: OpenChannels

    private init(_ channel: any Channel, _ open: OpenChannels, host: String) {
        self.host = host
        self.port = channel.localAddress?.port ?? 0
        self.channel = channel
        self.open = open
    }

    /// Binds an address and accepts connections.
    ///
    /// - Parameters:
    ///   - group: where it runs; must outlive it. Nil: SwiftNIO's own.
    ///   - accept: makes what handles a connection's bytes, behind its TLS. Runs on the connection's event loop. Nil: the
    ///     connection is left alone, unread, until the listener stops. An error closes it.
    /// - Throws: a socket error when the address cannot be bound.
    package static func bind(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)?,
        accept: @escaping @Sendable (AcceptedConnection) throws -> (any ChannelHandler)?
    ) async throws -> Listener {
        let open = OpenChannels()
        let limit = DescriptorLimit.current.connections(configuration.limits.connections)
        var bootstrap = ServerBootstrap(group: group ?? MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Int32(clamping: configuration.limits.queue))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // One connection for each read, so that the limit is exact.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
        if let bytes = configuration.receiveBuffer {
            // Of the listener, so that it holds for the first window that a client is offered.
            bootstrap = bootstrap.serverChannelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(bytes))
        }
        let channel =
            try await bootstrap
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = AcceptHandler(limit: limit) { open.count { $0.waits += 1 } }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try AcceptedConnection.accept(channel, configuration, open, accept)
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: configuration.host, port: configuration.port)
            .get()
        return Listener(channel, open, host: configuration.host)
    }

    /// What happened to the connections so far. Holds a lock for a few instructions.
    package var counts: ConnectionCounts { self.open.counts }

    /// Accepts nothing more; the connections stay.
    package func close() {
        self.channel.close(promise: nil)
    }

    /// Accepts nothing more, and asks the connections to come to their end: their handlers get
    /// `ChannelShouldQuiesceEvent`. What is open after `limit` is closed without ceremony.
    ///
    /// - Returns: false when `limit` passed first.
    @discardableResult
    package func quiesce(within limit: Duration) async -> Bool {
        let isQuiet = await self.end(within: limit) { self.open.quiesce() }
        if !isQuiet { _ = self.open.close() }
        return isQuiet
    }

    /// Closes the listener and all connections, without ceremony.
    ///
    /// - Parameter limit: how long to wait for the sockets to close; what is then still open closes later by itself.
    package func stop(within limit: Duration) async {
        _ = await self.end(within: limit) { self.open.close() }
    }

    /// Closes the listener, then ends the connections.
    ///
    /// - Parameter connections: what ends them, and completes when they have closed.
    /// - Returns: false when `limit` passed first.
    private func end(
        within limit: Duration,
        _ connections: @escaping @Sendable () -> [EventLoopFuture<Void>]
    ) async -> Bool {
        let eventLoop = self.eventLoop
        let promise = eventLoop.makePromise(of: Bool.self)
        let deadline = eventLoop.scheduleTask(in: TimeAmount(limit)) { promise.succeed(false) }
        self.channel.close(promise: nil)
        self.channel.closeFuture.whenComplete { _ in
            EventLoopFuture.andAllComplete(connections(), on: eventLoop).map { true }.cascade(to: promise)
        }
        defer { deadline.cancel() }
        // Neither way to complete the promise fails it.
        return (try? await promise.futureResult.get()) ?? false
    }
}
