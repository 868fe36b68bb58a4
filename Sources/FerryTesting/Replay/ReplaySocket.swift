public import FerryOpenSSL
internal import FerryServer
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
    public var host: String { self.service.host }
    /// The port that is bound.
    public var port: Int { self.service.port }
    private let service: SimulatedService<ConnectionCounts>
    private let run: ReplayRun

    private init(_ service: SimulatedService<ConnectionCounts>, _ run: ReplayRun) {
        self.service = service
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
        let tls = try credentials.map { try TLSContext.simulated(as: $0) }
        let run = ReplayRun(replay, on: group.any())
        let service = try await SimulatedService<ConnectionCounts>.start(
            .init(host: host, port: port, tls: tls),
            on: group,
            handler: { accepted in
                guard let connection = run.takeNext() else {
                    run.refuse()
                    throw ChannelError.alreadyClosed
                }
                return try run.handler(connection, accepted.channel, accepted.socket, isSecure: accepted.tls != nil)
            }
        )
        return ReplaySocket(service, run)
    }

    /// Waits until the transcript has been replayed to its end, and closes the socket.
    ///
    /// - Throws: ``ReplayMismatch`` when the client did something else, or not everything within `limit`; `TLSError`
    ///   when a handshake failed.
    public func finish(within limit: Duration) async throws {
        defer {
            self.service.close()
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
        let server = try Dialer(host: host, port: port, tls: tls, timeout: limit)
        let run = ReplayRun(replay, on: eventLoop)
        @Sendable func open() {
            guard let connection = run.takeNextDue() else { return }
            server.connect(on: eventLoop) { channel, socket, isSecure in
                try run.handler(connection, channel, socket, isSecure: isSecure)
            }.whenFailure { run.fail($0) }
        }
        run.onProgress(open)
        open()
        defer {
            run.onProgress {}
            run.closeAll()
        }
        try await run.finish(within: limit)
    }
}
