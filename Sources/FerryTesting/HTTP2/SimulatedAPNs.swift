public import FerryOpenSSL
internal import FerryServer
public import NIOCore

/// A simulated APNs over HTTP/2, for tests. It listens on its own port, speaks TLS, and misbehaves as a script says.
///
/// It checks requests as APNs does, and answers with APNs' status, reason and `apns-id`. An ``HTTP2Script`` adds
/// faults. The same port takes requests about broadcast channels, which live as long as the service: at most 10,000 for each
/// app.
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
/// Its methods may be called from any thread. Stop every service: releasing the last reference does not close its
/// connections.
public final class SimulatedAPNs: Sendable {
    /// The address, the credentials and the behaviour of a simulated APNs.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// The identity of the server, the authority that issues its clients' certificates, and the key that signs
        /// provider tokens.
        public var credentials: TestCredentials
        /// Whether a client must show a certificate of that authority. If false, it may. A client without a certificate
        /// needs provider tokens, unless ``HTTP2Script/requiresToken`` is false.
        public var requiresClientCertificate = false
        /// The highest TLS version.
        public var maximumTLSVersion = TLSVersion.tls13
        /// The behaviour of the service. The default has no faults.
        public var script = HTTP2Script()
        /// The recorder of accepted requests. Nil: they are only counted, which is fastest.
        public var recorder: (any APNsRecorder)?

        /// Creates the configuration of a simulated APNs on any free port of the loopback address, without faults.
        public init(credentials: TestCredentials) {
            self.credentials = credentials
        }
    }

    /// The bound host, as the configuration names it.
    public var host: String { self.service.host }
    /// The bound port.
    public var port: Int { self.service.port }
    private let service: SimulatedService<APNsCounts>

    private init(_ service: SimulatedService<APNsCounts>) {
        self.service = service
    }

    /// Starts a simulated APNs.
    ///
    /// - Parameters:
    ///   - configuration: the address, the credentials and the behaviour of the simulated APNs.
    ///   - group: the event loops to run on. The group must outlive the service. Nil: the singleton group of SwiftNIO.
    /// - Throws: `TLSError` when the credentials cannot be used, or a socket error when the address cannot be bound.
    public static func start(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)? = nil
    ) async throws -> SimulatedAPNs {
        let (rules, recorder) = (HTTP2Rules(configuration.script), configuration.recorder)
        let keys = [configuration.credentials.providerTokenKey]
        let (tally, channels) = (Tally<APNsCounts>(), ChannelTable())
        var listener = try configuration.listener()
        if rules.stopsReading { listener.receiveBuffer = Listener.Configuration.smallBuffer }
        let service = try await SimulatedService.start(
            listener,
            handshake: configuration.script.handshake,
            counting: tally,
            on: group,
            flush: recorder?.flush,
            handler: { connection in
                APNsConnectionHandler(connection, tally: tally) { certificate in
                    try APNsMachine(
                        rules: rules,
                        connection: connection.number,
                        certificateTopics: certificate?.topics.map(\.name),
                        keys: keys,
                        channels: channels,
                        recorder: recorder
                    )
                }
            }
        )
        return SimulatedAPNs(service)
    }

    /// The counts so far. Holds a lock for a few instructions.
    public var counts: APNsCounts { self.service.counts }

    /// Closes the listener and all connections, without close_notify, and flushes the recorder.
    ///
    /// - Parameter limit: how long to wait for the sockets to close. Sockets that are still open then close later, by
    ///   themselves.
    public func stop(within limit: Duration = .seconds(5)) async {
        await self.service.stop(within: limit)
    }
}

extension SimulatedAPNs.Configuration {
    fileprivate func listener() throws(TLSError) -> Listener.Configuration {
        let tls = try TLSContext.simulated(
            as: self.credentials,
            handshake: self.script.handshake,
            requiresClient: self.requiresClientCertificate,
            otherwise: .optional(self.credentials.trustRoots),
            maximum: self.maximumTLSVersion,
            protocols: ["h2"]
        )
        return Listener.Configuration(host: self.host, port: self.port, tls: tls)
    }
}
