import NIOCore

/// A handler that sends a text before all other bytes of a connection, as a proxy does.
final class FirstBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let text: String

    init(_ text: String) { self.text = text }

    func channelActive(context: ChannelHandlerContext) {
        if !self.text.isEmpty { context.writeAndFlush(NIOAny(ByteBuffer(string: self.text)), promise: nil) }
        context.fireChannelActive()
    }
}
