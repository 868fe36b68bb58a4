public import FerryOpenSSL
internal import FerryServer
public import NIOCore

/// A gateway of the legacy binary protocol, for tests. It listens on its own port, speaks TLS, and misbehaves as a
/// script says.
///
/// It accepts the same notifications as Apple's gateway, and refuses the others with the same error responses. A
/// ``GatewayScript`` adds faults.
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
/// Its methods may be called from any thread. Stop every gateway: releasing the last reference does not close its
/// connections.
public final class SimulatedGateway: Sendable {
    /// The address, the credentials and the behaviour of a gateway.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// The identity of the gateway, and the authority that issues its clients' certificates.
        public var credentials: TestCredentials
        /// Whether a client must show a certificate of that authority. If false, a client may show any certificate, or
        /// no certificate.
        public var requiresClientCertificate = true
        /// The highest TLS version. The default is 1.2: some clients of this protocol fail on the messages that TLS 1.3
        /// sends after the handshake.
        public var maximumTLSVersion = TLSVersion.tls12
        /// Whether clients are accepted that support nothing newer than TLS 1.0 with SHA-1.
        public var acceptsLegacyTLS = false
        /// The behaviour of the gateway. The default has no faults.
        public var script = GatewayScript()
        /// The recorder of accepted notifications. Nil: they are only counted, which is fastest.
        public var recorder: (any GatewayRecorder)?
        /// The feedback service that gets the devices of rules with ``GatewayRule/Action/gone``. Nil: these devices are
        /// dropped.
        public var feedback: SimulatedFeedback?

        /// Creates the configuration of a gateway on any free port of the loopback address, without faults.
        public init(credentials: TestCredentials) {
            self.credentials = credentials
        }
    }

    /// The bound host, as the configuration names it.
    public var host: String { self.service.host }
    /// The bound port.
    public var port: Int { self.service.port }
    private let service: SimulatedService<GatewayCounts>

    private init(_ service: SimulatedService<GatewayCounts>) {
        self.service = service
    }

    /// Starts a gateway.
    ///
    /// - Parameters:
    ///   - configuration: the address, the credentials and the behaviour of the gateway.
    ///   - group: the event loops to run on. The group must outlive the service. Nil: the singleton group of SwiftNIO.
    /// - Throws: `TLSError` when the credentials cannot be used, or a socket error when the address cannot be bound.
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
                    machine: SimulatedGatewayMachine(rules: rules, connection: connection.number, recorder: recorder),
                    socket: connection.socket,
                    tally: tally,
                    feedback: feedback
                )
            }
        )
        return SimulatedGateway(service)
    }

    /// The counts so far. Holds a lock for a few instructions.
    public var counts: GatewayCounts { self.service.counts }

    /// Closes the listener and all connections, without close_notify, and flushes the recorder.
    ///
    /// - Parameter limit: how long to wait for the sockets to close. Sockets that are still open then close later, by
    ///   themselves.
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
