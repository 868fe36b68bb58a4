internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore

/// The factory for the two sides of each recorded connection. Safe from any thread.
final class RecordedConnections: Sendable {
    let writer: TranscriptWriter
    private let gateway: Dialer
    private let onProblem: @Sendable (any Error) -> Void

    init(_ configuration: RecordingGateway.Configuration, _ limits: ServerLimits) throws {
        self.gateway = try Dialer(
            host: configuration.gatewayHost,
            port: configuration.gatewayPort,
            tls: configuration.gatewayTLS,
            timeout: configuration.connectTimeout,
            limits: limits
        )
        self.writer = try TranscriptWriter(
            path: configuration.path,
            service: configuration.service,
            redacts: configuration.redacts
        )
        self.onProblem = configuration.onProblem
    }

    /// Creates the side of a client that has connected. Call it on the connection's event loop.
    func accept(_ connection: AcceptedConnection) -> TeeHandler {
        TeeHandler(
            .client,
            connection: connection.number,
            writer: self.writer,
            socket: connection.socket,
            isSecure: connection.tls != nil,
            owner: TeeHandler.Owner(isReady: { self.connect($0, connection) }, failed: self.onProblem)
        )
    }

    /// Connects to the gateway for a client that is ready.
    private func connect(_ client: TeeHandler, _ connection: AcceptedConnection) {
        let eventLoop = connection.channel.eventLoop
        let owner = TeeHandler.Owner(
            isReady: { server in TeeHandler.join(client, server) },
            failed: { error in
                self.onProblem(error)
                // The transcript says that the gateway ended the connection, because the client sees it that way.
                self.writer.note(connection.number, .server, .end)
                client.abandon()
            }
        )
        // Both sides run on the client's event loop.
        let bound = NIOLoopBound((owner, connection), eventLoop: eventLoop)
        self.gateway.connect(on: eventLoop) { channel, socket, isSecure in
            let (owner, connection) = bound.value
            try connection.attach(channel)
            return TeeHandler(
                .server,
                connection: connection.number,
                writer: self.writer,
                socket: socket,
                isSecure: isSecure,
                owner: owner
            )
        }.whenFailure { bound.value.0.failed($0) }
    }
}
