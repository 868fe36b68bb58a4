internal import FerryOpenSSL
internal import NIOCore

/// The connections of a ``SimulatedGateway`` and what they share. Safe from any thread.
final class GatewayConnections: Sendable {
    let statistics = GatewayStatistics()
    let recorder: (any GatewayRecorder)?
    let open = OpenChannels()
    private let rules: GatewayRules
    private let context: TLSContext

    init(_ configuration: SimulatedGateway.Configuration) throws(TLSError) {
        self.recorder = configuration.recorder
        self.rules = GatewayRules(configuration.script)
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
        guard self.open.add(channel) else { throw ChannelError.alreadyClosed }
        guard self.rules.script.handshake != .silent else {
            try channel.syncOptions?.setOption(.autoRead, value: false)
            return
        }
        if let rate = self.rules.script.bytesPerSecond {
            let chunk = SocketHandler.chunk(bytesPerSecond: rate)
            try channel.syncOptions?.setOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: chunk)
            )
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
        }
        // The machine has lingered before it closes.
        var limits = TLSHandler.Limits()
        limits.shutdown = .milliseconds(250)
        let socket = SocketHandler(bytesPerSecond: self.rules.script.bytesPerSecond)
        let machine = GatewayMachine(rules: self.rules, connection: number, recorder: self.recorder)
        let connection = GatewayConnectionHandler(machine: machine, socket: socket, statistics: self.statistics)
        let tls = try TLSHandler(server: self.context, limits: limits)
        try channel.pipeline.syncOperations.addHandlers([socket, tls, connection] as [any ChannelHandler])
    }
}
