internal import FerryOpenSSL
internal import NIOCore

/// What the connections of a ``SimulatedGateway`` share. Safe from any thread.
final class GatewayConnections: Sendable {
    let statistics = ServerStatistics<GatewayCounts>()
    let recorder: (any GatewayRecorder)?
    /// Whether a connection may stop being read, so that little of it should lie between the client and the gateway.
    let readsLittle: Bool
    private let rules: GatewayRules
    private let context: TLSContext
    /// Gets the devices that a rule calls gone.
    private let feedback: FeedbackList?

    init(_ configuration: SimulatedGateway.Configuration) throws(TLSError) {
        self.recorder = configuration.recorder
        self.rules = GatewayRules(configuration.script)
        self.readsLittle = configuration.script.rules.contains { $0.action == .stopReading }
        self.feedback = configuration.feedback?.list
        let certificates: TLSContext.ClientCertificates =
            if configuration.script.handshake == .refuseClient {
                .verified { _ in false }
            } else if configuration.requiresClientCertificate {
                .required(configuration.credentials.trustRoots)
            } else {
                .requested
            }
        self.context = try TLSContext(
            server: .init(
                identity: configuration.credentials.server,
                profile: configuration.acceptsLegacyTLS ? .legacy : .modern,
                maximum: configuration.maximumTLSVersion,
                clientCertificates: certificates
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
        let rate = self.rules.script.bytesPerSecond
        if rate != nil || self.readsLittle {
            try channel.read(atMost: rate.map { SocketHandler.chunk(bytesPerSecond: $0) } ?? SocketHandler.smallBuffer)
        }
        let socket = SocketHandler(bytesPerSecond: rate)
        let machine = GatewayMachine(rules: self.rules, connection: number, recorder: self.recorder)
        let connection = GatewayConnectionHandler(
            machine: machine,
            socket: socket,
            statistics: self.statistics,
            feedback: self.feedback
        )
        let tls = try TLSHandler(server: self.context, limits: .briefShutdown)
        try channel.pipeline.syncOperations.addHandlers([socket, tls, connection] as [any ChannelHandler])
    }
}
