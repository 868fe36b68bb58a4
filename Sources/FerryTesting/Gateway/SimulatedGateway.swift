public import FerryOpenSSL
internal import FerryServer
public import NIOCore

/// A gateway of the legacy binary protocol, for tests: TLS on a port of its own, and trouble by script.
///
/// It accepts what Apple's gateway accepted, answers what that answered, and does everything wrong that a
/// ``GatewayScript`` asks for.
///
/// ```swift
/// let credentials = try TestCredentials()
/// var configuration = SimulatedGateway.Configuration(credentials: credentials)
/// configuration.script.rules = [.reject([badToken]), .end(by: .reset, after: 1000, times: 1)]
/// let gateway = try await SimulatedGateway.start(configuration)
/// // … send to gateway.host and gateway.port, trusting credentials.trustRoots, as credentials.client …
/// await gateway.stop()
/// ```
///
/// Its methods may be called from any thread. A gateway must be stopped: connections hold what they need of it, so
/// dropping the reference does not close them.
public final class SimulatedGateway: Sendable {
    /// Where a gateway listens, who it is, and how it behaves.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// Who the gateway is, and which authority its clients' certificates must come from.
        public var credentials: TestCredentials
        /// Whether a client must show a certificate of that authority. If not, any certificate, or none, is taken.
        public var requiresClientCertificate = true
        /// The highest TLS version: 1.2, because clients of this protocol stumble over what 1.3 sends unasked.
        public var maximumTLSVersion = TLSVersion.tls12
        /// Whether clients are taken that speak no better than TLS 1.0 with SHA-1.
        public var acceptsLegacyTLS = false
        /// What goes wrong. Without a script, nothing.
        public var script = GatewayScript()
        /// Gets what is accepted. Nil: it is counted and not looked at, which is fastest.
        public var recorder: (any GatewayRecorder)?
        /// Gets the devices that rules with ``GatewayRule/Action/gone`` name. Nil: they are forgotten.
        public var feedback: SimulatedFeedback?

        /// A gateway at a free port of the loopback address, with which nothing goes wrong.
        public init(credentials: TestCredentials) {
            self.credentials = credentials
        }
    }

    /// The address that is bound.
    public var host: String { self.service.host }
    /// The port that is bound.
    public var port: Int { self.service.port }
    private let service: SimulatedService<GatewayCounts>

    private init(_ service: SimulatedService<GatewayCounts>) {
        self.service = service
    }

    /// Starts a gateway.
    ///
    /// - Parameter group: where it runs; must outlive it. Nil: SwiftNIO's own.
    /// - Throws: `TLSError` when the credentials are of no use, or a socket error when the address cannot be bound.
    public static func start(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)? = nil
    ) async throws -> SimulatedGateway {
        let (script, recorder) = (configuration.script, configuration.recorder)
        let rules = GatewayRules(script)
        let tally = Tally<GatewayCounts>()
        let feedback = configuration.feedback?.list
        let service = try await SimulatedService.start(
            configuration.listener(),
            handshake: script.handshake,
            counting: tally,
            on: group,
            flush: recorder?.flush,
            handler: { connection in
                GatewayConnectionHandler(
                    machine: GatewayMachine(rules: rules, connection: connection.number, recorder: recorder),
                    socket: connection.socket,
                    tally: tally,
                    feedback: feedback
                )
            }
        )
        return SimulatedGateway(service)
    }

    /// What happened so far. Holds a lock for a few instructions.
    public var counts: GatewayCounts { self.service.counts }

    /// Closes the listener and all connections, without ceremony, and flushes the recorder.
    ///
    /// - Parameter limit: how long to wait for the sockets to close; what is then still open closes later by itself.
    public func stop(within limit: Duration = .seconds(5)) async {
        await self.service.stop(within: limit)
    }
}

extension SimulatedGateway.Configuration {
    fileprivate func listener() throws(TLSError) -> Listener.Configuration {
        let tls = try TLSContext.simulated(
            as: self.credentials,
            handshake: self.script.handshake,
            requiresClient: self.requiresClientCertificate,
            profile: self.acceptsLegacyTLS ? .legacy : .modern,
            maximum: self.maximumTLSVersion
        )
        var listener = Listener.Configuration(host: self.host, port: self.port, tls: tls)
        listener.bytesPerSecond = self.script.bytesPerSecond
        if self.script.rules.contains(where: { $0.action == .stopReading }) {
            listener.receiveBuffer = Listener.Configuration.smallBuffer
        }
        return listener
    }
}
