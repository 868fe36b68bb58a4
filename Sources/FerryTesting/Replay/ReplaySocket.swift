public import FerryOpenSSL
internal import FerryServer
public import NIOCore
internal import NIOPosix

/// A socket that replays a transcript to a program over the loopback interface, as client or as server.
///
/// ```swift
/// let transcript = try Transcript(contentsOfFile: "error-response.transcript")
/// let credentials = try TestCredentials()
/// let socket = try await ReplaySocket.listen(Replay(transcript, playing: .server), as: credentials)
/// // … let the client under test connect to socket.host and socket.port …
/// try await socket.finish(within: .seconds(10))   // throws ReplayMismatch
/// ```
///
/// Its methods may be called from any thread. Always call ``finish(within:)``: without it, the socket stays open.
public final class ReplaySocket: Sendable {
    /// The bound host, as the configuration names it.
    public var host: String { self.service.host }
    /// The bound port.
    public var port: Int { self.service.port }
    private let service: SimulatedService<ConnectionCounts>
    private let run: ReplayRun

    private init(_ service: SimulatedService<ConnectionCounts>, _ run: ReplayRun) {
        self.service = service
        self.run = run
    }

    /// Listens for the client of a transcript. The client's connections are matched with those of the transcript in
    /// order.
    ///
    /// - Parameters:
    ///   - replay: must play ``Transcript/Side/server``.
    ///   - credentials: the credentials for TLS up to 1.2. A client may show any certificate, or no certificate. Nil:
    ///     no TLS.
    ///   - host: the address to bind.
    ///   - port: the port to bind; 0 for any.
    ///   - group: the event loops to run on. The group must outlive the service. Nil: the singleton group of SwiftNIO.
    /// - Throws: `TLSError` when the credentials cannot be used, or a socket error when the address cannot be bound.
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
    /// - Throws: ``ReplayMismatch`` when the client differs from the transcript, or does not finish within `limit`;
    ///   `TLSError` when a handshake failed.
    public func finish(within limit: Duration) async throws {
        defer {
            self.service.close()
            self.run.closeAll()
        }
        try await self.run.finish(within: limit)
    }

    /// The TLS settings of a replay that connects.
    public struct ClientTLS: Sendable {
        /// The authorities that may issue the server's certificate.
        public var trustRoots: TrustRoots
        /// The certificate and key of the client; nil: the client shows no certificate.
        public var identity: TLSIdentity?
        /// The name that the server's certificate must contain; nil: the name of the host.
        public var serverName: String?

        /// Creates the TLS settings of a client.
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
    ///   - host: the host of the server: a name or an address.
    ///   - port: the port of the server.
    ///   - tls: the TLS settings; nil: no TLS.
    ///   - limit: the time limit of the whole replay.
    ///   - group: the event loops to run on. Nil: the singleton group of SwiftNIO.
    /// - Throws: ``ReplayMismatch`` when the server differs from the transcript, or does not finish within `limit`;
    ///   `TLSError` or a socket error when there is no connection.
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
