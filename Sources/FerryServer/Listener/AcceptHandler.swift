internal import NIOCore

/// Runs an ``AcceptGate`` on the channel that listens.
///
/// The channel must accept one connection for each read. If a read accepted several, the limit would be exceeded.
final class AcceptHandler: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never
    typealias OutboundOut = Never

    private var gate: AcceptGate
    private var context: ChannelHandlerContext?
    /// Called each time that an accept must wait.
    private let onWait: () -> Void

    init(limit: Int, onWait: @escaping () -> Void) {
        self.gate = AcceptGate(limit: limit)
        self.onWait = onWait
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.gate.accepted()
        let closed = self.unwrapInboundIn(data).closeFuture.hop(to: context.eventLoop)
        closed.assumeIsolated().whenComplete { _ in
            if self.gate.closed() == .accept { self.context?.read() }
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        if self.gate.wantsToAccept() { context.read() } else { self.onWait() }
    }
}
