internal import FerryServer
internal import NIOCore
internal import NIOTLS

/// The handler that sends one connection of a ``SimulatedFeedback`` its answer.
final class FeedbackServiceHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time that a client has to end the connection after the list.
    private static let linger: TimeAmount = .seconds(5)

    private let list: SimulatedFeedbackList
    private let socket: SocketHandler

    init(list: SimulatedFeedbackList, socket: SocketHandler) {
        self.list = list
        self.socket = socket
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted:
            self.give(self.list.takeAnswer(), context)
        case ChannelEvent.inputClosed:
            context.close(promise: nil)
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Does nothing: after an error, TLS and the channel close by themselves.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}

    private func give(_ answer: FeedbackAnswer, _ context: ChannelHandlerContext) {
        let isWritten = context.eventLoop.makePromise(of: Void.self)
        for piece in answer.pieces.dropLast() {
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: piece)), promise: nil)
        }
        let last = ByteBuffer(bytes: answer.pieces.last ?? [])
        context.writeAndFlush(self.wrapOutboundOut(last), promise: isWritten)
        let written = isWritten.futureResult.assumeIsolated()
        switch answer.ending {
        case .none:
            break
        case .reset:
            written.whenSuccess { self.socket.reset() }
        case .endOfStream:
            written.whenSuccess { self.socket.closeOutput() }
        case .closeNotify:
            let isClosed = context.eventLoop.makePromise(of: Void.self)
            context.close(mode: .output, promise: isClosed)
            let channel = context.channel
            isClosed.futureResult.assumeIsolated().whenSuccess {
                channel.eventLoop.assumeIsolated().scheduleTask(in: Self.linger) { channel.close(promise: nil) }
            }
        }
    }
}
