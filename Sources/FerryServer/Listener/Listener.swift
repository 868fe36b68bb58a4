internal import FerryCore
package import FerryOpenSSL
internal import FerryPlatform
package import NIOCore
internal import NIOPosix

/// A socket that listens, and the connections that it accepted. Any thread may use it.
///
/// Stop every listener, because releasing the last reference closes nothing.
package final class Listener: Sendable {
    /// The host of the configuration, or of the passed socket.
    package let host: String
    /// The bound port.
    package let port: Int
    /// The event loop of the listener. Its connections run on any event loop of the group.
    package var eventLoop: any EventLoop { self.channel.eventLoop }
    /// The socket that listens, or the last one.
    private let socket: Locked<any Channel>
    private var channel: any Channel { self.socket.withLock { $0 } }
    /// Binds the address of this listener again.
    private let bindAgain: @Sendable (_ port: Int) async throws -> any Channel
    private let open: OpenChannels
    private let next: SharedNext

    /// The settings of connections that are not accepted yet.
    struct NextConnections: Sendable {
        /// Nil for connections without encryption.
        var tls: TLSContext?
        var proxies: TrustedProxies
    }

    private init(
        _ channel: any Channel,
        _ open: OpenChannels,
        _ next: SharedNext,
        host: String,
        bindAgain: @escaping @Sendable (_ port: Int) async throws -> any Channel
    ) {
        self.bindAgain = bindAgain
        self.next = next
        self.host = host
        self.port = channel.localAddress?.port ?? 0
        self.socket = Locked(channel)
        self.open = open
    }

    /// Binds an address and accepts connections.
    ///
    /// - Parameters:
    ///   - group: the event loops of the listener and its connections. The group must outlive the listener. If nil,
    ///     they are those of SwiftNIO's singleton group.
    ///   - accept: makes the handler of a connection's bytes, after TLS. Runs on the connection's event loop. If it
    ///     returns nil, the connection stays open and unread until the listener stops. If it throws, the connection is
    ///     closed.
    /// - Throws: a socket error when the address cannot be bound, or the passed socket cannot be used.
    package static func bind(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)?,
        accept: @escaping @Sendable (AcceptedConnection) throws -> (any ChannelHandler)?
    ) async throws -> Listener {
        let open = OpenChannels()
        let next = SharedNext(NextConnections(tls: configuration.tls, proxies: configuration.proxies))
        let bind = { @Sendable (configuration: Configuration) async throws -> any Channel in
            try await self.bind(self.bootstrap(configuration, open, next, on: group, accept), configuration)
        }
        return Listener(
            try await bind(configuration),
            open,
            next,
            host: configuration.passed?.host ?? configuration.host
        ) { port in
            var again = configuration
            again.port = port
            again.isPaused = false
            return try await bind(again)
        }
    }

    private static func bootstrap(
        _ configuration: Configuration,
        _ open: OpenChannels,
        _ next: SharedNext,
        on group: (any EventLoopGroup)?,
        _ accept: @escaping @Sendable (AcceptedConnection) throws -> (any ChannelHandler)?
    ) -> ServerBootstrap {
        let limit = DescriptorLimit.current.connections(configuration.limits.connections)
        var bootstrap = ServerBootstrap(group: group ?? MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Int32(clamping: configuration.limits.queue))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Each read accepts one connection. With several, the limit would be exceeded.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .serverChannelOption(.autoRead, value: !configuration.isPaused)
        if let bytes = configuration.receiveBuffer {
            // The value is set on the listening socket. On an accepted one, it would come after the first TCP window
            // that the client sees.
            bootstrap = bootstrap.serverChannelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(bytes))
        }
        return
            bootstrap
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if configuration.passed == nil, configuration.socketPath != nil { try Self.restrict(channel) }
                    let handler = AcceptHandler(limit: limit, isEncrypted: configuration.tls != nil) { waits in
                        if waits { open.count { $0.waits += 1 } }
                        configuration.onWait(waits)
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try AcceptedConnection.accept(channel, configuration, next.settings.withLock { $0 }, open, accept)
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
    }

    private static func bind(
        _ bootstrap: ServerBootstrap,
        _ configuration: Configuration
    ) async throws -> any Channel {
        if let passed = configuration.passed { return try await self.take(passed, bootstrap) }
        guard let path = configuration.socketPath else {
            return try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .bind(host: configuration.host, port: configuration.port).get()
        }
        let channel = try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        // On Linux the file has this mode since its creation. Other systems ignore the mode of the socket.
        guard chmod(path, 0o600) == 0 else {
            let fault = IOError(errnoCode: errno, reason: "chmod of the socket \(path)")
            try? await channel.close()
            throw fault
        }
        return channel
    }

    /// Gives a socket that is not bound yet the mode that Linux copies to its file when it is bound. Without this, other
    /// users could connect between the creation of the file and its `chmod`.
    private static func restrict(_ channel: any Channel) throws {
        _ = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            _ = fchmod(socket, 0o600)
        }
    }

    private static func take(_ passed: PassedSocket, _ bootstrap: ServerBootstrap) async throws -> any Channel {
        let bootstrap =
            passed.port == nil ? bootstrap : bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        let channel = try await bootstrap.withBoundSocket(passed.descriptor).get()
        // SwiftNIO shortens the queue to 128 connections. The queue must be long, because connections wait in it during
        // the next restart, too. The system lowers this number to `net.core.somaxconn`.
        listen(passed.descriptor, .max)
        return channel
    }

    /// Whether an error of ``bind(_:on:accept:)`` says that another process has the address.
    package static func isTaken(_ error: any Error) -> Bool { (error as? IOError)?.errnoCode == EADDRINUSE }

    /// The counts of the connections so far. Holds a lock for a few instructions.
    package var counts: ConnectionCounts { self.open.counts }
    /// The open connections, with the channels that belong to them. Holds a lock for a few instructions.
    package var openConnections: Int { self.open.openCount }

    /// Begins to accept, if ``Configuration/isPaused`` was set.
    package func begin() { self.channel.setOption(.autoRead, value: true).whenFailure { _ in } }

    /// Gives the next connections another TLS context and other proxies. Open connections keep theirs.
    ///
    /// Only for a listener that was made with TLS.
    package func use(_ tls: TLSContext, _ proxies: TrustedProxies = TrustedProxies()) {
        self.next.settings.withLock { $0 = NextConnections(tls: tls, proxies: proxies) }
    }

    /// Changes the number of connections that are served at a time. Connections beyond it stay open.
    package func limit(to connections: Int) {
        let limit = DescriptorLimit.current.connections(connections)
        let channel = self.channel
        channel.eventLoop.execute {
            // A closed listener has no handler any more.
            try? channel.pipeline.syncOperations.handler(type: AcceptHandler.self).limit(to: limit)
        }
    }

    /// Stops accepting. Open connections stay open.
    package func close() {
        self.channel.close(promise: nil)
    }

    /// Closes the socket until ``resume()``, so that the system refuses new connections. Open connections stay open. Do not
    /// call it for a passed socket, which cannot be bound again.
    package func suspend() async { try? await self.channel.close() }

    /// Listens again on the same address, with the limit of the configuration.
    ///
    /// - Throws: a socket error when the address cannot be bound. Another call may succeed.
    package func resume() async throws {
        guard !self.channel.isActive else { return }
        let channel = try await self.bindAgain(self.port)
        self.socket.withLock { $0 = channel }
    }

    /// Stops accepting, and asks the connections to end: their handlers get `ChannelShouldQuiesceEvent`. Connections
    /// that are still open after `limit` are closed without close_notify.
    ///
    /// - Returns: false when `limit` passed first.
    @discardableResult
    package func quiesce(within limit: Duration) async -> Bool {
        let isQuiet = await self.end(within: limit) { self.open.quiesce() }
        if !isQuiet { _ = self.open.close() }
        return isQuiet
    }

    /// Closes the listener and all connections, without close_notify.
    ///
    /// - Parameter limit: the longest wait for the sockets to close. Sockets that are still open then close later.
    package func stop(within limit: Duration) async {
        _ = await self.end(within: limit) { self.open.close() }
    }

    /// Closes the listener, then ends the connections.
    ///
    /// - Parameter connections: ends the connections, and returns a future for each, which completes when the
    ///   connection has closed.
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
        // The promise never fails: the deadline and the connections both succeed it.
        return (try? await promise.futureResult.get()) ?? false
    }
}

/// The settings that a listener shares with its acceptor.
private final class SharedNext: Sendable {
    let settings: Locked<Listener.NextConnections>

    init(_ settings: Listener.NextConnections) { self.settings = Locked(settings) }
}
