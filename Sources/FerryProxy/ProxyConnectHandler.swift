internal import FerryPlatform
package import NIOCore

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
/// After a failure, the handler fires a ``ProxyError`` in the pipeline. The handler has no time limit, so the owner
/// sets one. Use the handler on the channel's event loop.
package final class ProxyConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundOut = ByteBuffer

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

    /// - Parameters:
    ///   - host: the host behind the proxy. A name is resolved by the proxy.
    ///   - port: the port of that host.
    package init(_ proxy: HTTPProxy, host: String, port: Int) {
        self.proxy = proxy
        self.target = (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    }

    /// Whether the handler waits for the proxy's answer. False once the tunnel is open or has failed.
    package var isWaiting: Bool { self.state == .asking }

    package func channelActive(context: ChannelHandlerContext) {
        let request = self.proxy.connectRequest(to: self.target)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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
        case .refused(407): self.fail(self.proxy.userName == nil ? .wantsPassword : .refusesPassword, context)
        case .refused(let status): self.fail(.refused(status: status), context)
        case .notHTTP: self.fail(.notHTTP, context)
        case .tooLong: self.fail(.answerTooLong, context)
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard self.state == .asking else { return context.fireErrorCaught(error) }
        let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
        self.fail(.lost(reason), context, cause: error)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        if self.state == .asking { self.fail(.closed, context) }
        context.fireChannelInactive()
    }

    private func fail(_ fault: ProxyError.Fault, _ context: ChannelHandlerContext, cause: (any Error)? = nil) {
        self.state = .failed
        context.fireErrorCaught(ProxyError(fault, self.proxy, target: self.target, cause: cause))
    }
}
