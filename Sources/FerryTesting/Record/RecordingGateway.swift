internal import FerryOpenSSL
internal import FerryServer
public import NIOCore

/// A server between any client and any gateway. It ends the TLS of both, and writes their bytes to a transcript.
///
/// For each connection of a client, it opens one to the gateway. It forwards bytes, half-closes, ends and resets as
/// they arrive. Its methods may be called from any thread. Stop every recorder: releasing the last reference does not
/// close its connections.
public final class RecordingGateway: Sendable {
    /// The addresses, the credentials and the transcript of a recorder.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// The credentials for the clients' TLS, with version 1.2 at most. Any client certificate is accepted. Nil: no
        /// TLS with clients.
        public var credentials: TestCredentials?
        /// The gateway's host name or address.
        public var gatewayHost: String
        /// The gateway's port.
        public var gatewayPort: Int
        /// The TLS settings for the gateway; nil: no TLS with the gateway.
        public var gatewayTLS: ReplaySocket.ClientTLS?
        /// The recorded service.
        public var service = Transcript.Service.gateway
        /// The path of the transcript. An existing file is replaced.
        public var path: String
        /// If true, tokens and payloads in the transcript are replaced by others of the same length.
        public var redacts = false
        /// The longest time for connecting to the gateway, TLS included.
        public var connectTimeout: Duration = .seconds(10)
        /// Called with each error of a connection, on its event loop. Must not block.
        public var onProblem: @Sendable (any Error) -> Void = { _ in }

        /// Creates the configuration of a recorder on any free port of the loopback address.
        public init(to gatewayHost: String, port gatewayPort: Int, path: String) {
            self.gatewayHost = gatewayHost
            self.gatewayPort = gatewayPort
            self.path = path
        }
    }

    /// The bound host, as the configuration names it.
    public var host: String { self.service.host }
    /// The bound port.
    public var port: Int { self.service.port }
    private let service: SimulatedService<ConnectionCounts>
    private let writer: TranscriptWriter

    private init(_ service: SimulatedService<ConnectionCounts>, _ writer: TranscriptWriter) {
        self.service = service
        self.writer = writer
    }

    /// Starts recording.
    ///
    /// - Parameters:
    ///   - configuration: the addresses, the credentials and the transcript of the recorder.
    ///   - group: the event loops to run on. The group must outlive the service. Nil: the singleton group of SwiftNIO.
    /// - Throws: ``FileError`` for the transcript, `TLSError` for the credentials, or a socket error when the address
    ///   cannot be bound.
    public static func start(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)? = nil
    ) async throws -> RecordingGateway {
        let tls = try configuration.credentials.map { try TLSContext.simulated(as: $0) }
        var limits = ServerLimits.simulated
        limits.handshake = configuration.connectTimeout
        let connections = try RecordedConnections(configuration, limits)
        let service = try await SimulatedService<ConnectionCounts>.start(
            .init(host: configuration.host, port: configuration.port, tls: tls, limits: limits),
            on: group,
            handler: connections.accept
        )
        return RecordingGateway(service, connections.writer)
    }

    /// The first error after which the transcript is incomplete: a ``FileError``, or a ``TranscriptError`` when the
    /// transcript is full. Nothing is recorded after it.
    public var failure: (any Error)? { self.writer.failure }

    /// The connections of clients, and the lines of the transcript so far.
    package var recorded: (connections: Int, lines: Int) {
        (self.service.counts.connections, self.writer.lineCount)
    }

    /// Closes the listener and all connections, without close_notify, and completes the transcript.
    ///
    /// - Parameter limit: how long to wait for the sockets to close.
    public func stop(within limit: Duration = .seconds(5)) async {
        await self.service.stop(within: limit)
        self.writer.flush()
    }
}
