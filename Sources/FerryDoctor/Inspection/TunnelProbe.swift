internal import FerryProxy
internal import NIOCore

/// The handler after that of the proxy. It notes whether the tunnel opens, and closes the connection.
///
/// Use it on the channel's event loop only.
final class TunnelProbe: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let limit: Duration
    private var deadline: Scheduled<Void>?
    /// The promise of the result; nil after the result was delivered.
    private var result: EventLoopPromise<HostFacts.Tunnel>?

    /// - Parameters:
    ///   - limit: the longest wait for the answer of the proxy.
    ///   - result: gets the result, if the proxy accepts the connection.
    init(limit: Duration, result: EventLoopPromise<HostFacts.Tunnel>) {
        self.limit = limit
        self.result = result
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // The address accepted a connection before, so nearly all of the limit is left for the answer.
        self.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(self.limit)) {
            self.finish(.silent, context)
        }
    }

    // The handler of the proxy passes this event on only when the tunnel is open.
    func channelActive(context: ChannelHandlerContext) { self.finish(.open, context) }

    func channelInactive(context: ChannelHandlerContext) { self.finish(.silent, context) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.finish((error as? ProxyError).map { HostFacts.Tunnel.refused($0) } ?? .silent, context)
    }

    private func finish(_ tunnel: HostFacts.Tunnel, _ context: ChannelHandlerContext) {
        guard let result = self.result.take() else { return }
        self.deadline?.cancel()
        context.close(promise: nil)
        result.succeed(tunnel)
    }
}
