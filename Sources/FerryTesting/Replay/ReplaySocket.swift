public import FerryOpenSSL
public import NIOCore
internal import NIOPosix

/// A socket that says what a real one said: replays a transcript to a program over the loopback, in either role.
///
/// ```swift
/// let transcript = try Transcript(contentsOfFile: "error-response.transcript")
/// let credentials = try TestCredentials()
/// let socket = try await ReplaySocket.listen(Replay(transcript, playing: .server), as: credentials)
/// // … let the client under test connect to socket.host and socket.port …
/// try await socket.finish(within: .seconds(10))   // throws ReplayMismatch
/// ```
///
/// Its methods may be called from any thread. ``finish(within:)`` must be called: it closes the socket.
public final class ReplaySocket: Sendable {
    /// The address that is bound.
    public var host: String { self.listener.host }
    /// The port that is bound.
    public var port: Int { self.listener.port }
    private let listener: Listener
    private let run: ReplayRun

    private init(_ listener: Listener, _ run: ReplayRun) {
        self.listener = listener
        self.run = run
    }

    /// Listens for the client of a transcript. Its connections are taken in the order of the transcript's.
    ///
    /// - Parameters:
    ///   - replay: must play ``Transcript/Side/server``.
    ///   - credentials: TLS with these, any client certificate or none, 1.2 at most; nil: no TLS.
    ///   - port: 0 for any.
    ///   - group: where it runs; must outlive it. Nil: SwiftNIO's own.
    /// - Throws: `TLSError` when the credentials are of no use, or a socket error when the address cannot be bound.
    public static func listen(
        _ replay: Replay,
        as credentials: TestCredentials?,
        host: String = "127.0.0.1",
        port: Int = 0,
        on group: (any EventLoopGroup)? = nil
    ) async throws -> ReplaySocket {
        precondition(replay.side == .server, "A replay that listens plays the server")
        let group = group ?? MultiThreadedEventLoopGroup.singleton
        let context = try credentials.map {
            try TLSContext(server: .init(identity: $0.server, maximum: .tls12, clientCertificates: .requested))
        }
        let run = ReplayRun(replay, on: group.any())
        let listener = try await Listener.bind(host: host, port: port, on: group) { channel in
            guard let connection = run.takeNext() else {
                run.refuse()
                throw ChannelError.alreadyClosed
            }
            let tls = try context.map { try TLSHandler(server: $0, limits: .briefShutdown) }
            try Self.configure(channel, tls, connection, run)
        }
        return ReplaySocket(listener, run)
    }

    /// Waits until the transcript has been replayed to its end, and closes the socket.
    ///
    /// - Throws: ``ReplayMismatch`` when the client did something else, or not everything within `limit`; `TLSError`
    ///   when a handshake failed.
    public func finish(within limit: Duration) async throws {
        defer {
            self.listener.close()
            self.run.closeAll()
        }
        try await self.run.finish(within: limit)
    }

    /// How a replay that connects speaks TLS.
    public struct ClientTLS: Sendable {
        /// Which authorities the server's certificate may come from.
        public var trustRoots: TrustRoots
        /// Who the client is, if anyone.
        public var identity: TLSIdentity?
        /// The name that the server's certificate must be for; nil: the host that is connected to.
        public var serverName: String?

        /// What both sides of a test have.
        public init(trustRoots: TrustRoots, identity: TLSIdentity? = nil, serverName: String? = nil) {
            self.trustRoots = trustRoots
            self.identity = identity
            self.serverName = serverName
        }
    }

    /// Connects to a server and replays the client of a transcript. Each connection is opened when everything before it
    /// in the transcript has happened.
    ///
    /// - Parameters:
    ///   - replay: must play ``Transcript/Side/client``.
    ///   - tls: nil: no TLS.
    ///   - limit: for everything together.
    ///   - group: where it runs. Nil: SwiftNIO's own.
    /// - Throws: ``ReplayMismatch`` when the server did something else, or not everything within `limit`; `TLSError` or a
    ///   socket error when there is no connection.
    public static func connect(
        _ replay: Replay,
        to host: String,
        port: Int,
        tls: ClientTLS?,
        within limit: Duration,
        on group: (any EventLoopGroup)? = nil
    ) async throws {
        precondition(replay.side == .client, "A replay that connects plays the client")
        let eventLoop = (group ?? MultiThreadedEventLoopGroup.singleton).any()
        let context = try tls.map { try TLSContext(client: .init(trustRoots: $0.trustRoots, identity: $0.identity)) }
        let run = ReplayRun(replay, on: eventLoop)
        @Sendable func open() {
            guard let connection = run.takeNextDue() else { return }
            ClientBootstrap(group: eventLoop)
                .connectTimeout(TimeAmount(limit))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelOption(.allowRemoteHalfClosure, value: true)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let serverName = tls?.serverName ?? host
                        let handler = try context.map {
                            try TLSHandler(client: $0, serverName: serverName, limits: .briefShutdown)
                        }
                        try Self.configure(channel, handler, connection, run)
                    }
                }
                .connect(host: host, port: port)
                .whenFailure { run.fail($0) }
        }
        run.onProgress(open)
        open()
        defer {
            run.onProgress {}
            run.closeAll()
        }
        try await run.finish(within: limit)
    }

    private static func configure(
        _ channel: any Channel,
        _ tls: TLSHandler?,
        _ connection: Int,
        _ run: ReplayRun
    ) throws {
        guard let machine = run.machine(connection) else { throw ChannelError.alreadyClosed }
        run.begin(connection, on: channel)
        let socket = SocketHandler()
        let handler = ReplayHandler(connection, machine, of: run, socket: socket, isSecure: tls != nil)
        let handlers: [any ChannelHandler] = tls.map { [socket, $0, handler] } ?? [socket, handler]
        try channel.pipeline.syncOperations.addHandlers(handlers)
    }
}
