internal import FerryOpenSSL
internal import FerryServer
public import NIOCore

/// Stands between any client and any gateway, ends the TLS of both, and writes what they say to a transcript.
///
/// Every connection of a client becomes one to the gateway; bytes, half-closes, ends and resets are handed on as they
/// come. Its methods may be called from any thread. It must be stopped.
public final class RecordingGateway: Sendable {
    /// Between whom to stand.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// Who the recorder is to its clients, with TLS 1.2 at most; any client certificate is taken. Nil: no TLS.
        public var credentials: TestCredentials?
        /// The gateway's host name or address.
        public var gatewayHost: String
        /// The gateway's port.
        public var gatewayPort: Int
        /// How the recorder speaks TLS to the gateway; nil: not at all.
        public var gatewayTLS: ReplaySocket.ClientTLS?
        /// Which service is spoken.
        public var service = Transcript.Service.gateway
        /// Where the transcript goes. An existing file is replaced.
        public var path: String
        /// Whether tokens and payloads are replaced in the transcript, length for length.
        public var redacts = false
        /// How long connecting to the gateway may take, TLS included.
        public var connectTimeout: Duration = .seconds(10)
        /// Told what went wrong with a connection, on its event loop. Must not block.
        public var onProblem: @Sendable (any Error) -> Void = { _ in }

        /// A recorder at a free port of the loopback address.
        public init(to gatewayHost: String, port gatewayPort: Int, path: String) {
            self.gatewayHost = gatewayHost
            self.gatewayPort = gatewayPort
            self.path = path
        }
    }

    /// The address that is bound.
    public var host: String { self.service.host }
    /// The port that is bound.
    public var port: Int { self.service.port }
    private let service: SimulatedService<ConnectionCounts>
    private let writer: TranscriptWriter

    private init(_ service: SimulatedService<ConnectionCounts>, _ writer: TranscriptWriter) {
        self.service = service
        self.writer = writer
    }

    /// Starts recording.
    ///
    /// - Parameter group: where it runs; must outlive it. Nil: SwiftNIO's own.
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

    /// The first thing that kept the transcript from being complete: a ``FileError``, or a ``TranscriptError`` when it
    /// is full. Nothing is recorded after it.
    public var failure: (any Error)? { self.writer.failure }

    /// Closes everything, without ceremony, and completes the transcript.
    ///
    /// - Parameter limit: how long to wait for the sockets to close.
    public func stop(within limit: Duration = .seconds(5)) async {
        await self.service.stop(within: limit)
        self.writer.flush()
    }
}
