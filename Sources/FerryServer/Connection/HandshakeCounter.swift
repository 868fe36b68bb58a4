internal import NIOCore
internal import NIOTLS

/// Counts how a connection's TLS handshake ends.
final class HandshakeCounter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let open: OpenChannels
    /// The first error is the cause; what follow are its consequences.
    private var hasEnded = false

    init(_ open: OpenChannels) {
        self.open = open
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard !self.hasEnded, let handshake = event as? TLSUserEvent, case .handshakeCompleted = handshake else {
            return context.fireUserInboundEventTriggered(event)
        }
        self.hasEnded = true
        self.open.count { $0.handshakes += 1 }
        context.fireUserInboundEventTriggered(event)
        // The bytes of the connection need not pass here.
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !self.hasEnded {
            self.hasEnded = true
            self.open.count { $0.handshakeFailures += 1 }
        }
        context.fireErrorCaught(error)
    }
}
