internal import FerryPlatform
internal import NIOCore

/// The first handler above the socket of a connection from a proxy. It reads the ``ProxyHeader``, tells the next
/// handlers who the client is, and leaves the pipeline.
///
/// ```
///              header names a client,
///    ┌─────────┐ or a byte follows it        ┌────────┐
///    │ reading │ ──────────────────────────▶ │ passed │
///    └─────────┘                             └────────┘
///         │ own connection, fault, end, deadline
///         ▼
///      closed
/// ```
///
/// The next handlers see `channelActive` when the state becomes `passed`. A health check sends nothing, or only a
/// header without a client. The next handlers see nothing of such a connection.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum State {
        /// - bytes: the part of the header that has come; nil before the first byte.
        case reading(_ bytes: ByteBuffer?)
        /// The header names no client, and nothing has followed it. Some proxies begin a health check with such a
        /// header.
        case unnamed
        case passed
        case closed
    }

    private let proxy: SocketAddress
    private let roundTrip: TimeAmount
    private let limit: Duration
    private var state = State.reading(nil)
    private var deadline: Scheduled<Void>?

    /// - Parameters:
    ///   - proxy: the remote address of the socket.
    ///   - limit: the time for the header.
    init(of proxy: SocketAddress, roundTrip: TimeAmount, within limit: Duration) {
        self.proxy = proxy
        self.roundTrip = roundTrip
        self.limit = limit
    }

    func channelActive(context: ChannelHandlerContext) {
        self.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(self.limit)) {
            self.end(.late(self.limit), context)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let fresh = self.unwrapInboundIn(data)
        switch self.state {
        case .reading(let earlier):
            var bytes = earlier ?? ByteBuffer()
            bytes.writeImmutableBuffer(fresh)
            self.read(&bytes, context)
        case .unnamed: self.pass(nil, fresh, context)
        case .passed: context.fireChannelRead(data)
        case .closed: break
        }
    }

    private func read(_ bytes: inout ByteBuffer, _ context: ChannelHandlerContext) {
        do throws(ProxyHeaderFault) {
            switch try ProxyHeader.read(&bytes) {
            case nil: self.state = .reading(bytes)
            case .client(let address) where !self.isProxy(address): self.pass(address, bytes, context)
            case .client, .unnamed:
                if bytes.readableBytes == 0 { self.state = .unnamed } else { self.pass(nil, bytes, context) }
            case .own: self.close(context)
            }
        } catch {
            self.fail(error, context)
        }
    }

    /// Whether a header names the proxy's own end of the connection. In version 1, HAProxy begins its health checks
    /// with such a header.
    private func isProxy(_ client: SocketAddress) -> Bool {
        client.port == self.proxy.port && IPNetwork.short(client.ipBytes) == IPNetwork.short(self.proxy.ipBytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // This handler asks for more bytes, because the next handlers do not know of the connection yet.
        switch self.state {
        case .reading, .unnamed: context.read()
        case .passed, .closed: context.fireChannelReadComplete()
        }
    }

    private func pass(_ client: SocketAddress?, _ rest: ByteBuffer, _ context: ChannelHandlerContext) {
        self.state = .passed
        self.deadline?.cancel()
        context.fireUserInboundEventTriggered(ProxiedConnection(client: client, roundTrip: self.roundTrip))
        context.fireChannelActive()
        if rest.readableBytes > 0 { context.fireChannelRead(self.wrapInboundOut(rest)) }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    // MARK: The end before a client

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch self.state {
        case .reading, .unnamed: if case ChannelEvent.inputClosed = event { self.end(.cutShort, context) }
        case .passed: context.fireUserInboundEventTriggered(event)
        case .closed: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Earlier errors are dropped, because health checks often end with a reset.
        if case .passed = self.state { context.fireErrorCaught(error) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard case .passed = self.state else { return self.end(.cutShort, context) }
        context.fireChannelInactive()
    }

    /// Ends a connection before a client is known. The end is a fault only if a part of a header has come.
    private func end(_ fault: ProxyHeaderFault, _ context: ChannelHandlerContext) {
        switch self.state {
        case .reading(.some): self.fail(fault, context)
        case .reading(nil), .unnamed: self.close(context)
        case .passed, .closed: break
        }
    }

    private func fail(_ fault: ProxyHeaderFault, _ context: ChannelHandlerContext) {
        self.state = .closed
        context.fireErrorCaught(fault)
        self.close(context)
    }

    private func close(_ context: ChannelHandlerContext) {
        self.state = .closed
        self.deadline?.cancel()
        context.close(promise: nil)
    }
}
