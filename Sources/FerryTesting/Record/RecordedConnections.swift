internal import FerryOpenSSL
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Makes the two sides of each recorded connection. Safe from any thread.
final class RecordedConnections: Sendable {
    let configuration: RecordingGateway.Configuration
    let writer: TranscriptWriter
    private let serverContext: TLSContext?
    private let clientContext: TLSContext?
    let open = OpenChannels()
    private let connections = Atomic(0)

    init(_ configuration: RecordingGateway.Configuration) throws {
        self.configuration = configuration
        self.serverContext = try configuration.credentials.map {
            try TLSContext(server: .init(identity: $0.server, maximum: .tls12, clientCertificates: .requested))
        }
        self.clientContext = try configuration.gatewayTLS.map {
            try TLSContext(client: .init(trustRoots: $0.trustRoots, identity: $0.identity))
        }
        self.writer = try TranscriptWriter(
            path: configuration.path,
            service: configuration.service,
            redacts: configuration.redacts
        )
    }

    /// Builds the pipeline of a client's connection. On its event loop.
    func accept(_ channel: any Channel) throws {
        let number = self.connections.add(1, ordering: .relaxed).newValue
        let owner = TeeHandler.Owner(
            isReady: { client in self.connect(client, number, on: channel.eventLoop) },
            failed: self.configuration.onProblem
        )
        let tls = try self.serverContext.map { try TLSHandler(server: $0, limits: self.limits) }
        try self.configure(channel, tls, .client, number, owner)
    }

    private func connect(_ client: TeeHandler, _ number: Int, on eventLoop: any EventLoop) {
        let client = NIOLoopBound(client, eventLoop: eventLoop)
        let problem = self.configuration.onProblem
        let owner = TeeHandler.Owner(
            isReady: { server in TeeHandler.join(client.value, server) },
            failed: { error in
                problem(error)
                // To the client it looks as if the gateway had ended the connection.
                self.writer.note(number, .server, .end)
                client.value.abandon()
            }
        )
        let bound = NIOLoopBound(owner, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(self.configuration.connectTimeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try self.open.add(channel)
                    let serverName = self.configuration.gatewayTLS?.serverName ?? self.configuration.gatewayHost
                    let tls = try self.clientContext.map {
                        try TLSHandler(client: $0, serverName: serverName, limits: self.limits)
                    }
                    try self.configure(channel, tls, .server, number, bound.value)
                }
            }
            .connect(host: self.configuration.gatewayHost, port: self.configuration.gatewayPort)
            .whenFailure { bound.value.failed($0) }
    }

    private func configure(
        _ channel: any Channel,
        _ tls: TLSHandler?,
        _ side: Transcript.Side,
        _ number: Int,
        _ owner: TeeHandler.Owner
    ) throws {
        let socket = SocketHandler()
        let tee = TeeHandler(
            side,
            connection: number,
            writer: self.writer,
            socket: socket,
            isSecure: tls != nil,
            owner: owner
        )
        let handlers: [any ChannelHandler] = tls.map { [socket, $0, tee] } ?? [socket, tee]
        try channel.pipeline.syncOperations.addHandlers(handlers)
    }

    private var limits: TLSHandler.Limits {
        var limits = TLSHandler.Limits.briefShutdown
        limits.handshake = self.configuration.connectTimeout
        return limits
    }
}
