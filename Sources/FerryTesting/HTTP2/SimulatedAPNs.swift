public import FerryOpenSSL
internal import FerryServer
public import NIOCore

/// APNs over HTTP/2, for tests: TLS on a port of its own, and trouble by script.
///
/// It checks requests as APNs does, answers with APNs' status, reason and `apns-id`, and does everything wrong that an
/// ``HTTP2Script`` asks for.
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
/// Its methods may be called from any thread. It must be stopped: connections hold what they need of it, so dropping the
/// reference does not close them.
public final class SimulatedAPNs: Sendable {
    /// Where a simulated APNs listens, who it is, and how it behaves.
    public struct Configuration: Sendable {
        /// The address to bind.
        public var host = "127.0.0.1"
        /// The port to bind; 0 for any.
        public var port = 0
        /// Who the server is, which authority its clients' certificates must come from, and which key signs provider
        /// tokens.
        public var credentials: TestCredentials
        /// Whether a client must show a certificate of that authority. If not, it may; without one it needs provider
        /// tokens, unless the script does without.
        public var requiresClientCertificate = false
        /// The highest TLS version.
        public var maximumTLSVersion = TLSVersion.tls13
        /// What goes wrong. Without a script, nothing.
        public var script = HTTP2Script()
        /// Gets what is accepted. Nil: it is counted, which is fastest.
        public var recorder: (any APNsRecorder)?

        /// A simulated APNs at a free port of the loopback address, with which nothing goes wrong.
        public init(credentials: TestCredentials) {
            self.credentials = credentials
        }
    }

    /// The address that is bound.
    public var host: String { self.service.host }
    /// The port that is bound.
    public var port: Int { self.service.port }
    private let service: SimulatedService<APNsCounts>

    private init(_ service: SimulatedService<APNsCounts>) {
        self.service = service
    }

    /// Starts a simulated APNs.
    ///
    /// - Parameter group: where it runs; must outlive it. Nil: SwiftNIO's own.
    /// - Throws: `TLSError` when the credentials are of no use, or a socket error when the address cannot be bound.
    public static func start(
        _ configuration: Configuration,
        on group: (any EventLoopGroup)? = nil
    ) async throws -> SimulatedAPNs {
        let (rules, recorder) = (HTTP2Rules(configuration.script), configuration.recorder)
        let keys = [configuration.credentials.providerTokenKey]
        let tally = Tally<APNsCounts>()
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
                        recorder: recorder
                    )
                }
            }
        )
        return SimulatedAPNs(service)
    }

    /// What happened so far. Holds a lock for a few instructions.
    public var counts: APNsCounts { self.service.counts }

    /// Closes the listener and all connections, without ceremony, and flushes the recorder.
    ///
    /// - Parameter limit: how long to wait for the sockets to close; what is then still open closes later by itself.
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
