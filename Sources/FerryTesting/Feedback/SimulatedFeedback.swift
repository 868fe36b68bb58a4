public import FerryBinary
internal import FerryCore
public import FerryOpenSSL
internal import FerryServer
public import NIOCore

/// A feedback service of the legacy binary protocol, for tests: TLS on a port of its own, and trouble by script.
///
/// As Apple's did, it sends its list as soon as a client has connected, clears it and closes.
///
/// ```swift
/// let credentials = try TestCredentials()
/// var configuration = SimulatedFeedback.Configuration(credentials: credentials)
/// configuration.script = FeedbackScript([.init(time: 1_700_000_000, token: token.bytes)], fault: .truncates, times: 1)
/// let service = try await SimulatedFeedback.start(configuration)
/// // … read from service.host and service.port, trusting credentials.trustRoots, as credentials.client …
/// await service.stop()
/// ```
///
/// Its methods may be called from any thread. A service must be stopped: connections hold what they need of it, so
/// dropping the reference does not close them.
public final class SimulatedFeedback: Sendable {
    /// Where a service listens, who it is, and how it behaves.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// Who the service is, and which authority its clients' certificates must come from.
        public var credentials: TestCredentials
        /// Whether a client must show a certificate of that authority. If not, any certificate, or none, is taken.
        public var requiresClientCertificate = true
        /// The highest TLS version: 1.2, because clients of this protocol stumble over what 1.3 sends unasked.
        public var maximumTLSVersion = TLSVersion.tls12
        /// Whether clients are taken that speak no better than TLS 1.0 with SHA-1.
        public var acceptsLegacyTLS = false
        /// What stands on the list, and what goes wrong.
        public var script = FeedbackScript()

        /// A service at a free port of the loopback address, whose list is empty.
        public init(credentials: TestCredentials) {
            self.credentials = credentials
        }
    }

    /// The address that is bound.
    public var host: String { self.service.host }
    /// The port that is bound.
    public var port: Int { self.service.port }
    let list: FeedbackList
    private let service: SimulatedService<FeedbackCounts>

    private init(_ service: SimulatedService<FeedbackCounts>, _ list: FeedbackList) {
        self.service = service
        self.list = list
    }

    /// Starts a service.
    ///
    /// - Parameter group: where it runs; must outlive it. Nil: SwiftNIO's own.
    /// - Throws: `TLSError` when the credentials are of no use, or a socket error when the address cannot be bound.
    public static func start(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)? = nil
    ) async throws -> SimulatedFeedback {
        let tally = Tally<FeedbackCounts>()
        let list = FeedbackList(configuration.script, tally)
        let service = try await SimulatedService.start(
            configuration.listener(),
            handshake: configuration.script.handshake,
            counting: tally,
            on: group,
            handler: { FeedbackServiceHandler(list: list, socket: $0.socket) }
        )
        return SimulatedFeedback(service, list)
    }

    /// Puts a device on the list.
    public func add(_ tuple: FeedbackTuple) {
        self.list.add(.init(time: tuple.time, token: tuple.token.bytes))
    }

    /// What stands on the list: what no connection got.
    public var tuples: [FeedbackScript.Tuple] { self.list.tuples }

    /// What happened so far.
    public var counts: FeedbackCounts { self.service.counts }

    /// Closes the listener and all connections, without ceremony.
    ///
    /// - Parameter limit: how long to wait for the sockets to close; what is then still open closes later by itself.
    public func stop(within limit: Duration = .seconds(5)) async {
        await self.service.stop(within: limit)
    }
}

/// What happened at a ``SimulatedFeedback`` since it started.
public struct FeedbackCounts: Hashable, Sendable {
    /// Connections that were accepted.
    public var connections = 0
    /// Connections whose TLS handshake succeeded.
    public var handshakes = 0
    /// Connections that failed before the end of their handshake.
    public var handshakeFailures = 0
    /// Tuples that were sent, be they good or not.
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
        // A list may take a slow client a while to read.
        return Listener.Configuration(host: self.host, port: self.port, tls: tls, limits: ServerLimits())
    }
}
