public import FerryBinary
internal import FerryCore
public import FerryOpenSSL
internal import FerryServer
public import NIOCore

/// A feedback service of the legacy binary protocol, for tests. It listens on its own port, speaks TLS, and misbehaves
/// as a script says.
///
/// Like Apple's service, it sends its list as soon as a client has connected, clears the list and closes the
/// connection.
///
/// ```swift
/// let credentials = try TestCredentials()
/// var configuration = SimulatedFeedback.Configuration(credentials: credentials)
/// configuration.script = FeedbackScript([.init(time: .now, token: token.bytes)], fault: .truncates, times: 1)
/// let service = try await SimulatedFeedback.start(configuration)
/// // … read from service.host and service.port, trusting credentials.trustRoots, as credentials.client …
/// await service.stop()
/// ```
///
/// Its methods may be called from any thread. Stop every service: releasing the last reference does not close its
/// connections.
public final class SimulatedFeedback: Sendable {
    /// The address, the credentials and the behaviour of a service.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// The identity of the service, and the authority that issues its clients' certificates.
        public var credentials: TestCredentials
        /// Whether a client must show a certificate of that authority. If false, a client may show any certificate, or
        /// no certificate.
        public var requiresClientCertificate = true
        /// The highest TLS version. The default is 1.2: some clients of this protocol fail on the messages that TLS 1.3
        /// sends after the handshake.
        public var maximumTLSVersion = TLSVersion.tls12
        /// Whether clients are accepted that support nothing newer than TLS 1.0 with SHA-1.
        public var acceptsLegacyTLS = false
        /// The list and the faults.
        public var script = FeedbackScript()

        /// Creates the configuration of a service on any free port of the loopback address, with an empty list.
        public init(credentials: TestCredentials) {
            self.credentials = credentials
        }
    }

    /// The bound host, as the configuration names it.
    public var host: String { self.service.host }
    /// The bound port.
    public var port: Int { self.service.port }
    let list: SimulatedFeedbackList
    private let service: SimulatedService<FeedbackCounts>

    private init(_ service: SimulatedService<FeedbackCounts>, _ list: SimulatedFeedbackList) {
        self.service = service
        self.list = list
    }

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - configuration: the address, the credentials and the behaviour of the service.
    ///   - group: the event loops to run on. The group must outlive the service. Nil: the singleton group of SwiftNIO.
    /// - Throws: `TLSError` when the credentials cannot be used, or a socket error when the address cannot be bound.
    public static func start(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)? = nil
    ) async throws -> SimulatedFeedback {
        let tally = Tally<FeedbackCounts>()
        let list = SimulatedFeedbackList(configuration.script, tally)
        let service = try await SimulatedService.start(
            configuration.listener(),
            handshake: configuration.script.handshake,
            counting: tally,
            on: group,
            handler: { FeedbackServiceHandler(list: list, socket: $0.socket) }
        )
        return SimulatedFeedback(service, list)
    }

    /// Adds a device to the list.
    public func add(_ tuple: FeedbackTuple) {
        self.list.add(.init(time: tuple.time, token: tuple.token.bytes))
    }

    /// The entries of the list that were sent to no connection yet.
    public var tuples: [FeedbackScript.Tuple] { self.list.tuples }

    /// The counts so far.
    public var counts: FeedbackCounts { self.service.counts }

    /// Closes the listener and all connections, without close_notify.
    ///
    /// - Parameter limit: how long to wait for the sockets to close. Sockets that are still open then close later, by
    ///   themselves.
    public func stop(within limit: Duration = .seconds(5)) async {
        await self.service.stop(within: limit)
    }
}

/// The counts of a ``SimulatedFeedback`` since it started.
public struct FeedbackCounts: Hashable, Sendable {
    /// Connections that were accepted.
    public var connections = 0
    /// Connections whose TLS handshake succeeded.
    public var handshakes = 0
    /// Connections that failed before their TLS handshake ended.
    public var handshakeFailures = 0
    /// Tuples that were sent, valid or invalid.
    public var tuples = 0
}

extension FeedbackCounts: ServiceCounts {}

extension SimulatedFeedback.Configuration {
    fileprivate func listener() throws(TLSError) -> Listener.Configuration {
        let tls = try TLSContext.simulated(
            as: self.credentials,
            handshake: self.script.handshake,
            requiresClient: self.requiresClientCertificate,
            profile: self.acceptsLegacyTLS ? .legacy : .modern,
            maximum: self.maximumTLSVersion
        )
        // The limits are the server's defaults, because a slow client may need long to read the list.
        return Listener.Configuration(host: self.host, port: self.port, tls: tls, limits: ServerLimits())
    }
}
