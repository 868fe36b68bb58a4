import FerryOpenSSL
import FerryTesting
import NIOCore
import NIOPosix
import NIOTLS

/// An old client that connects, shakes hands, and sends nothing.
struct Visitor {
    private let channel: any Channel
    private let context: TLSContext

    /// Connects, without a word of TLS.
    init(_ credentials: TestCredentials, port: Int) async throws {
        self.context = try TLSContext(
            client: .init(
                trustRoots: credentials.trustRoots,
                identity: credentials.client,
                versions: .tls12 ... .tls12
            )
        )
        self.channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port)
            .get()
    }

    /// Shakes hands.
    ///
    /// - Returns: false when the connection ended first.
    func shakeHands() async throws -> Bool {
        let (channel, context) = (self.channel, self.context)
        let end = channel.eventLoop.makePromise(of: Bool.self)
        try await channel.eventLoop.submit {
            let tls = try TLSHandler(client: context, serverName: "localhost")
            try channel.pipeline.syncOperations.addHandlers([tls, HandshakeEnd(end)] as [any ChannelHandler])
        }.get()
        return try await end.futureResult.get()
    }

    func leave() { self.channel.close(promise: nil) }

    private final class HandshakeEnd: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let end: EventLoopPromise<Bool>

        init(_ end: EventLoopPromise<Bool>) { self.end = end }

        // The connection may have ended before the handler came.
        func handlerAdded(context: ChannelHandlerContext) {
            if !context.channel.isActive { self.end.succeed(false) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted = event as? TLSUserEvent { self.end.succeed(true) }
            context.fireUserInboundEventTriggered(event)
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.end.succeed(false)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
