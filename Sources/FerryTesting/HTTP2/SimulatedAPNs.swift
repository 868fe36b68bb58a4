public import FerryOpenSSL
public import NIOCore
internal import NIOPosix

/// APNs over HTTP/2, for tests: TLS on a port of its own, and trouble by script.
///
/// It checks requests as APNs does, answers with APNs' status, reason and `apns-id`, and does everything wrong that an
/// ``HTTP2Script`` asks for.
///
/// ```swift
/// let credentials = try TestCredentials()
/// var configuration = SimulatedAPNs.Configuration(credentials: credentials)
/// configuration.script.rules = [.reject([badToken]), .goAway(every: 5000)]
/// let apns = try await SimulatedAPNs.start(configuration)
/// // … send to apns.host and apns.port, trusting credentials.trustRoots, with a provider token signed by
/// // credentials.tokenKey, or as credentials.client …
/// await apns.stop()
/// ```
///
/// Its methods may be called from any thread. It must be stopped: connections hold what they need of it, so dropping the
/// reference does not close them.
public final class SimulatedAPNs: Sendable {
    /// Where a simulated APNs listens, who it is, and how it behaves.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// Who the server is, which authority its clients' certificates must come from, and which key signs provider
        /// tokens.
        public var credentials: TestCredentials
        /// Whether a client must show a certificate of that authority. If not, it may; without one it needs provider
        /// tokens, unless the script does without.
        public var requiresClientCertificate = false
        /// The highest TLS version.
        public var maximumTLSVersion = TLSVersion.tls13
        /// What goes wrong. Without a script, nothing.
        public var script = HTTP2Script()
        /// Gets what is accepted. Nil: it is counted, which is fastest.
        public var recorder: (any APNsRecorder)?

        /// A simulated APNs at a free port of the loopback address, with which nothing goes wrong.
        public init(credentials: TestCredentials) {
            self.credentials = credentials
        }
    }

    /// The address that is bound.
    public let host: String
    /// The port that is bound.
    public let port: Int
    private let listener: any Channel
    private let connections: APNsConnections
    private let flushing: RepeatedTask?

    private init(_ listener: any Channel, _ connections: APNsConnections, host: String) {
        self.host = host
        self.port = listener.localAddress?.port ?? 0
        self.listener = listener
        self.connections = connections
        self.flushing = connections.recorder.map { recorder in
            listener.eventLoop.scheduleRepeatedTask(initialDelay: .milliseconds(100), delay: .milliseconds(100)) { _ in
                recorder.flush()
            }
        }
    }

    /// Starts a simulated APNs.
    ///
    /// - Parameter group: where it runs; must outlive it. Nil: SwiftNIO's own.
    /// - Throws: `TLSError` when the credentials are of no use, or a socket error when the address cannot be bound.
    public static func start(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)? = nil
    ) async throws -> SimulatedAPNs {
        let connections = try APNsConnections(configuration)
        var bootstrap = ServerBootstrap(group: group ?? MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        if connections.readsLittle {
            // Of the listener, so that it holds for the first window that a client is offered.
            bootstrap = bootstrap.serverChannelOption(
                .socketOption(.so_rcvbuf),
                value: SocketOptionValue(SocketHandler.smallBuffer)
            )
        }
        let listener =
            try await bootstrap
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try connections.add(channel) }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: configuration.host, port: configuration.port)
            .get()
        return SimulatedAPNs(listener, connections, host: configuration.host)
    }

    /// What happened so far. Cost: a few loads.
    public var counts: APNsCounts { self.connections.statistics.snapshot }

    /// Closes the listener and all connections, without ceremony, and flushes the recorder.
    ///
    /// - Parameter limit: how long to wait for the sockets to close; what is then still open closes later by itself.
    public func stop(within limit: Duration = .seconds(5)) async {
        self.flushing?.cancel()
        await self.connections.open.stop(self.listener, within: limit)
        self.connections.recorder?.flush()
    }
}
