internal import NIOCore
internal import NIOTLS

/// A handler that sends all bytes back. It closes when the client ends, and, if `quiesces` is true, when the server
/// quiesces.
final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let quiesces: Bool

    init(quiesces: Bool = true) {
        self.quiesces = quiesces
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(data, promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: context.close(promise: nil)
        case is ChannelShouldQuiesceEvent: if self.quiesces { context.close(promise: nil) }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
