internal import FerryHTTP2
internal import FerryOpenSSL
internal import NIOCore

/// What the connections of a ``SimulatedAPNs`` share. Safe from any thread.
final class APNsConnections: Sendable {
    let statistics = ServerStatistics<APNsCounts>()
    let recorder: (any APNsRecorder)?
    /// Whether a connection may stop being read, so that little of it should lie between the client and the server.
    let readsLittle: Bool
    private let rules: HTTP2Rules
    private let keys: [ProviderTokenVerifier.Key]
    private let context: TLSContext

    init(_ configuration: SimulatedAPNs.Configuration) throws(TLSError) {
        let (script, credentials) = (configuration.script, configuration.credentials)
        self.recorder = configuration.recorder
        self.rules = HTTP2Rules(script)
        self.readsLittle = self.rules.stopsReading
        self.keys = [credentials.providerTokenKey]
        let certificates: TLSContext.ClientCertificates =
            if script.handshake == .refuseClient {
                .verified { _ in false }
            } else if configuration.requiresClientCertificate {
                .required(credentials.trustRoots)
            } else {
                .optional(credentials.trustRoots)
            }
        self.context = try TLSContext(
            server: .init(
                identity: credentials.server,
                maximum: configuration.maximumTLSVersion,
                clientCertificates: certificates,
                applicationProtocols: ["h2"]
            )
        )
    }

    /// Builds the pipeline of an accepted connection. On its event loop.
    func add(_ channel: any Channel) throws {
        let number = self.statistics.countConnection()
        guard self.rules.script.handshake != .silent else {
            try channel.syncOptions?.setOption(.autoRead, value: false)
            return
        }
        if self.readsLittle {
            try channel.read(atMost: SocketHandler.smallBuffer)
        }
        let socket = SocketHandler()
        let tls = try TLSHandler(server: self.context, limits: .briefShutdown)
        let connection = APNsConnectionHandler(connections: self, number: number, socket: socket, tls: tls)
        try channel.pipeline.syncOperations.addHandlers([socket, tls, connection] as [any ChannelHandler])
    }

    /// The machine of a connection whose handshake is done.
    func makeMachine(number: Int, certificate: CertificateSummary?) throws(HTTP2Error) -> APNsMachine {
        try APNsMachine(
            rules: self.rules,
            connection: number,
            certificateTopics: certificate?.topics.map(\.name),
            keys: self.keys,
            recorder: self.recorder
        )
    }
}
