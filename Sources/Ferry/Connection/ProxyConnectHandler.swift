internal import FerryCore
internal import NIOCore

/// A handler between the socket and TLS. It asks an HTTP proxy for a tunnel, and starts TLS once the tunnel is open.
///
/// ```
///            status 2xx
///   asking ─────────────▶ established
///     │
///     └─────────────────▶ failed
///       another answer, or the end
/// ```
///
/// It has no time limit, and the owner sets one. It belongs to the channel's event loop.
final class ProxyConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case asking
        case established
        case failed
    }

    private let proxy: HTTPProxy
    /// Host and port, in the form that CONNECT uses.
    private let target: String
    private var answer = ProxyAnswer()
    private var state = State.asking

    init(_ proxy: HTTPProxy, target: String) {
        self.proxy = proxy
        self.target = target
    }

    /// Whether the proxy has not answered yet.
    var isWaiting: Bool { self.state == .asking }

    func channelActive(context: ChannelHandlerContext) {
        let request = self.proxy.connectRequest(to: self.target)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.state == .asking else {
            if self.state == .established { context.fireChannelRead(data) }
            return
        }
        switch self.answer.append(self.unwrapInboundIn(data)) {
        case .needMore:
            break
        case .established(let bytes):
            self.state = .established
            context.fireChannelActive()
            if bytes.readableBytes > 0 { context.fireChannelRead(self.wrapInboundOut(bytes)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        case .refused(let status):
            self.fail(self.proxy.refusal(status, target: self.target), context)
        case .notHTTP:
            self.fail("What answers at \(self.proxy) is no HTTP proxy. Check host and port of the proxy.", context)
        case .tooLong:
            let limit = ProxyAnswer.headLimit
            self.fail("The proxy \(self.proxy) answered with more than \(limit) bytes of header.", context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard self.state == .asking else { return context.fireErrorCaught(error) }
        let reason = TLSConnector.reason(error)
        self.fail("The connection to the proxy \(self.proxy) failed: \(reason).", context, cause: error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if self.state == .asking {
            self.fail("The proxy \(self.proxy) closed the connection before it answered.", context)
        }
        context.fireChannelInactive()
    }

    private func fail(_ message: String, _ context: ChannelHandlerContext, cause: (any Error)? = nil) {
        self.state = .failed
        context.fireErrorCaught(ProviderError(.connectFailed, message, cause: cause))
    }
}
