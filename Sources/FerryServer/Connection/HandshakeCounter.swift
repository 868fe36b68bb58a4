internal import NIOCore
internal import NIOTLS

/// A handler that counts whether a connection's TLS handshake succeeds or fails.
final class HandshakeCounter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let open: OpenChannels
    /// Whether the handshake has succeeded or failed. Errors after a failure follow from it, and are not counted.
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
        // The handler has finished. Without the removal, all later bytes would still pass through it.
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
