internal import FerryCore
package import FerryOpenSSL
internal import FerryPlatform
package import NIOCore
internal import NIOPosix

/// A socket that listens, and the connections that the socket accepted. Any thread may use a listener.
///
/// Stop every listener, because releasing the last reference closes nothing.
package final class Listener: Sendable {
    /// The host of the configuration, or of the passed socket.
    package let host: String
    /// The bound port; 0 for a socket in the file system.
    package let port: Int
    /// The event loop of the listener. Its connections run on any event loop of the group.
    package let eventLoop: any EventLoop
    private let socket: Locked<Socket>
    private let open: OpenChannels
    private let next: SharedNext
    private let acceptor: Acceptor
    /// Binds the address; nil if the socket was passed.
    private let bind: (@Sendable (_ port: Int) async throws -> any Channel)?

    /// The settings of connections that are not accepted yet.
    struct NextConnections: Sendable {
        /// Nil for connections without encryption.
        var tls: TLSContext?
        var proxies: TrustedProxies
    }

    private struct Socket {
        var channel: any Channel
        /// Whether the address is being bound again.
        var isOpening = false
        /// Whether the listener was closed for good.
        var isOver = false
    }

    private init(
        _ channel: any Channel,
        _ open: OpenChannels,
        _ next: SharedNext,
        _ acceptor: Acceptor,
        host: String,
        bind: (@Sendable (_ port: Int) async throws -> any Channel)?
    ) {
        self.next = next
        self.host = host
        self.port = channel.localAddress?.port ?? 0
        self.eventLoop = channel.eventLoop
        self.socket = Locked(Socket(channel: channel))
        self.open = open
        self.acceptor = acceptor
        self.bind = bind
    }

    private var channel: any Channel { self.socket.withLock { $0.channel } }

    /// Binds an address and accepts connections.
    ///
    /// - Parameters:
    ///   - group: the event loops of the listener and its connections. The group must outlive the listener. If nil,
    ///     SwiftNIO's singleton group is used.
    ///   - accept: makes the handler of a connection's bytes, after TLS. Runs on the connection's event loop. If it
    ///     returns nil, the connection stays open and unread until the listener stops. If it throws, the connection is
    ///     closed.
    /// - Throws: a socket error when the address cannot be bound, or the passed socket cannot be used.
    package static func bind(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)?,
        accept: @escaping @Sendable (AcceptedConnection) throws -> (any ChannelHandler)?
    ) async throws -> Listener {
        let (open, acceptor) = (OpenChannels(), Acceptor())
        let next = SharedNext(NextConnections(tls: configuration.tls, proxies: configuration.proxies))
        let group = group ?? MultiThreadedEventLoopGroup.singleton
        let eventLoop = group.next()
        let bind = { @Sendable (configuration: Configuration) async throws -> any Channel in
            // An address that is bound again gets the same event loop, because only that loop may use the acceptor.
            let bootstrap = ServerBootstrap(group: eventLoop, childGroup: group)
            return try await Self.bind(
                Self.prepare(bootstrap, configuration, open, next, acceptor, accept),
                configuration
            )
        }
        let channel = try await bind(configuration)
        guard configuration.passed == nil else {
            return Listener(channel, open, next, acceptor, host: configuration.passed?.host ?? "", bind: nil)
        }
        return Listener(channel, open, next, acceptor, host: configuration.host) { port in
            var again = configuration
            again.port = port
            again.isPaused = false
            return try await bind(again)
        }
    }

    private static func prepare(
        _ bootstrap: ServerBootstrap,
        _ configuration: Configuration,
        _ open: OpenChannels,
        _ next: SharedNext,
        _ acceptor: Acceptor,
        _ accept: @escaping @Sendable (AcceptedConnection) throws -> (any ChannelHandler)?
    ) -> ServerBootstrap {
        let limit = DescriptorLimit.current.connections(configuration.limits.connections)
        var bootstrap =
            bootstrap
            .serverChannelOption(.backlog, value: Int32(clamping: configuration.limits.queue))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Each read accepts one connection. If a read accepted several, the connections could exceed the limit.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .serverChannelOption(.autoRead, value: !configuration.isPaused)
        if let bytes = configuration.receiveBuffer {
            // The buffer is set on the listening socket. On an accepted socket, the client would already have seen
            // the first TCP window.
            bootstrap = bootstrap.serverChannelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(bytes))
        }
        return
            bootstrap
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if configuration.passed == nil, configuration.socketPath != nil { try Self.restrict(channel) }
                    let handler =
                        acceptor.handler
                        ?? AcceptHandler(limit: limit, isEncrypted: configuration.tls != nil) { waits in
                            if waits { open.count { $0.waits += 1 } }
                            configuration.onWait(waits)
                        }
                    acceptor.handler = handler
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
            return try await bootstrap.acceptingTCP().bind(host: configuration.host, port: configuration.port).get()
        }
        let channel = try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        // On Linux the file has had this mode since its creation. Other systems ignore the mode of the socket.
        guard chmod(path, 0o600) == 0 else {
            let fault = IOError(errnoCode: errno, reason: "chmod of the socket \(path)")
            try? await channel.close()
            throw fault
        }
        return channel
    }

    /// Sets the mode of a socket before its address is bound. Linux copies this mode to the socket's file. Without
    /// this call, other users could connect between the creation of the file and its `chmod`.
    private static func restrict(_ channel: any Channel) throws {
        _ = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            _ = fchmod(socket, 0o600)
        }
    }

    private static func take(_ passed: PassedSocket, _ bootstrap: ServerBootstrap) async throws -> any Channel {
        let bootstrap = passed.port == nil ? bootstrap : bootstrap.acceptingTCP()
        let channel = try await bootstrap.withBoundSocket(passed.descriptor).get()
        // SwiftNIO shortens the queue to 128 connections. This call makes the queue long again, because connections
        // wait in the queue during the next restart, too. The system lowers the length to `net.core.somaxconn`.
        listen(passed.descriptor, .max)
        return channel
    }

    /// Whether an error of ``bind(_:on:accept:)`` means that another socket has the address.
    package static func isTaken(_ error: any Error) -> Bool { (error as? IOError)?.errnoCode == EADDRINUSE }

    /// The counts of the connections so far. Holds a lock for a few instructions.
    package var counts: ConnectionCounts { self.open.counts }
    /// The number of open connections and of the channels that belong to them. Holds a lock for a few instructions.
    package var openConnections: Int { self.open.openCount }

    /// Begins to accept, if ``Configuration/isPaused`` was set.
    package func begin() { self.channel.setOption(.autoRead, value: true).whenFailure { _ in } }

    /// Gives the next connections another TLS context and other proxies. Open connections keep their TLS context and
    /// their proxies.
    ///
    /// Only for a listener that was made with TLS.
    package func use(_ tls: TLSContext, _ proxies: TrustedProxies = TrustedProxies()) {
        self.next.settings.withLock { $0 = NextConnections(tls: tls, proxies: proxies) }
    }

    /// Changes the number of connections that are served at a time. Open connections beyond this number stay open.
    package func limit(to connections: Int) {
        let limit = DescriptorLimit.current.connections(connections)
        let acceptor = self.acceptor
        self.eventLoop.execute { acceptor.handler?.limit(to: limit) }
    }

    /// Stops accepting. Open connections stay open.
    package func close() {
        let channel = self.socket.withLock { socket in
            socket.isOver = true
            return socket.channel
        }
        channel.close(promise: nil)
    }

    /// Stops accepting when the system's queue of the socket is empty, or after `limit`. Without this wait, the system
    /// would reset the connections in the queue. A passed socket is closed at once, because its queue stays for the
    /// next process.
    ///
    /// Call this method only if the group has one event loop. With several loops, another loop may be preparing a
    /// connection when the socket closes, and SwiftNIO then closes that connection.
    package func closeAfterQueue(within limit: TimeAmount) async {
        guard self.bind != nil else { return self.close() }
        self.socket.withLock { $0.isOver = true }
        let end = self.eventLoop.makePromise(of: Void.self)
        let deadline = NIODeadline.now() + limit
        self.eventLoop.execute { self.closeAfterQueue(by: deadline, end) }
        try? await end.futureResult.get()
    }

    private func closeAfterQueue(by deadline: NIODeadline, _ end: EventLoopPromise<Void>) {
        guard NIODeadline.now() < deadline, self.hasQueue else {
            self.close()
            return end.succeed()
        }
        // The event loop accepts one connection in each turn.
        self.eventLoop.scheduleTask(in: .milliseconds(1)) { self.closeAfterQueue(by: deadline, end) }
    }

    /// Whether a connection waits to be accepted. Call it on the event loop.
    private var hasQueue: Bool {
        let found = try? self.channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            return poll(&polled, 1, 0) > 0
        }
        return found ?? false
    }

    // MARK: Closing for a while

    /// Whether the socket is open.
    package var isOpen: Bool { self.channel.isActive }

    /// Closes the socket until ``reopen()``, so that peers are refused. Open connections stay open. A passed socket
    /// stays open, because this process could not bind it again.
    package func suspend() {
        if self.bind != nil { self.channel.close(promise: nil) }
    }

    /// Binds the address again after ``suspend()``. Does nothing if the socket is open, if another call is binding the
    /// address, or if the listener was closed by any other method.
    ///
    /// - Throws: a socket error when the address cannot be bound.
    package func reopen() async throws {
        guard let bind else { return }
        let isFirst = self.socket.withLock { socket in
            guard !socket.isOver, !socket.isOpening, !socket.channel.isActive else { return false }
            socket.isOpening = true
            return true
        }
        guard isFirst else { return }
        do {
            let channel = try await bind(self.port)
            let isOver = self.socket.withLock { socket in
                socket.isOpening = false
                socket.channel = channel
                return socket.isOver
            }
            if isOver { channel.close(promise: nil) }
        } catch {
            self.socket.withLock { $0.isOpening = false }
            throw error
        }
    }

    /// Stops accepting, and asks the connections to end: their handlers get `ChannelShouldQuiesceEvent`. Connections
    /// that are still open after `limit` are closed without close_notify.
    ///
    /// - Returns: false if `limit` passed before all connections had closed.
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
    /// - Parameter connections: ends the connections, and returns a future for each connection. The future completes
    ///   when the connection has closed.
    /// - Returns: false if `limit` passed before all connections had closed.
    private func end(
        within limit: Duration,
        _ connections: @escaping @Sendable () -> [EventLoopFuture<Void>]
    ) async -> Bool {
        let eventLoop = self.eventLoop
        let promise = eventLoop.makePromise(of: Bool.self)
        let deadline = eventLoop.scheduleTask(in: TimeAmount(limit)) { promise.succeed(false) }
        self.close()
        self.channel.closeFuture.whenComplete { _ in
            EventLoopFuture.andAllComplete(connections(), on: eventLoop).map { true }.cascade(to: promise)
        }
        defer { deadline.cancel() }
        // The promise never fails: the deadline and the connections both succeed it.
        return (try? await promise.futureResult.get()) ?? false
    }
}

/// The handler of a listener's socket. The socket of an address that is bound again gets the same handler, because
/// the handler counts the served connections.
///
/// `@unchecked Sendable`, because only the listener's event loop uses it.
private final class Acceptor: @unchecked Sendable {
    var handler: AcceptHandler?
}

/// The settings that a listener shares with its acceptor.
private final class SharedNext: Sendable {
    let settings: Locked<Listener.NextConnections>

    init(_ settings: Listener.NextConnections) { self.settings = Locked(settings) }
}
