internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore
internal import NIOHTTP1
internal import NIOTLS

/// The handler that posts notifications over one connection, and judges the answers.
///
/// ```
///    opening ──▶ idle ──▶ posting ──▶ answering ──▶ idle
///       │                    │            │
///       └────────────────────┴────────────┴──▶ over
/// ```
final class PostHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    struct Outcome: Sendable {
        var answer: NotificationAnswer
        var isReusable: Bool
    }

    /// A post that is under way.
    private struct Exchange {
        var body: ArraySlice<UInt8>
        var delivery: NotificationSender.Delivery
        var promise: EventLoopPromise<Outcome>
        var timeout: Scheduled<Void>
        var isSent = false
    }

    private enum State {
        /// The TLS handshake is not done; a post may wait for its end.
        case opening(Exchange?)
        case idle
        case posting(Exchange)
        /// The head of the answer came.
        case answering(Exchange, HTTPResponseHead)
        /// The connection has ended; a later post over it has this answer.
        case over(NotificationAnswer)
    }

    /// A slow body comes in so many pieces, with such pauses.
    private static let slowPieces = 8
    private static let slowPause = TimeAmount.milliseconds(20)

    private let socket: SocketHandler
    private let target: PostTarget
    private let isSecure: Bool
    private var state: State
    private var context: ChannelHandlerContext?

    init(_ socket: SocketHandler, target: PostTarget, isSecure: Bool) {
        self.socket = socket
        self.target = target
        self.isSecure = isSecure
        self.state = isSecure ? .opening(nil) : .idle
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.end(.failure(.prematureClose))
    }

    /// Posts a body. Call it on the event loop.
    func post(
        _ body: [UInt8],
        delivery: NotificationSender.Delivery,
        within timeout: Duration,
        _ promise: EventLoopPromise<Outcome>
    ) {
        if case .over(let answer) = self.state { return promise.succeed(Outcome(answer: answer, isReusable: false)) }
        guard let context else { return promise.succeed(Outcome(answer: .failure(.other), isReusable: false)) }
        let deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) {
            self.end(.failure(.timedOut))
        }
        let exchange = Exchange(body: body[...], delivery: delivery, promise: promise, timeout: deadline)
        switch self.state {
        case .opening(nil): self.state = .opening(exchange)
        case .idle: self.start(exchange, context)
        case .opening, .posting, .answering, .over:
            // One post at a time, so this does not happen.
            deadline.cancel()
            promise.succeed(Outcome(answer: .failure(.other), isReusable: false))
        }
    }

    // MARK: Sending

    private func start(_ exchange: Exchange, _ context: ChannelHandlerContext) {
        self.state = .posting(exchange)
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: self.target.path)
        head.headers.add(name: "Content-Type", value: "application/json; charset=UTF-8")
        head.headers.add(name: "Content-Length", value: String(exchange.body.count))
        head.headers.add(name: "Host", value: self.target.hostField)
        head.headers.add(name: "Connection", value: "Keep-Alive")
        // As seen in posts of the App Store.
        head.headers.add(name: "User-Agent", value: "Apache-HttpClient/4.5 (Java/17)")
        head.headers.add(name: "Accept-Encoding", value: "gzip,deflate")
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        switch exchange.delivery {
        case .whole, .impatient: self.send(exchange.body.count, context)
        case .slowBody: self.send(max(1, exchange.body.count / Self.slowPieces), context)
        case .cut:
            self.send(exchange.body.count / 2, context)
            self.socket.reset()
            self.end(.failure(.prematureClose))
        }
    }

    /// Sends `count` bytes of the body, and the rest later in pieces of the same length.
    private func send(_ count: Int, _ context: ChannelHandlerContext) {
        guard case .posting(var exchange) = self.state else { return }
        let piece = exchange.body.prefix(count)
        exchange.body = exchange.body.dropFirst(count)
        exchange.isSent = exchange.body.isEmpty
        self.state = .posting(exchange)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: piece)))), promise: nil)
        if exchange.isSent {
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
            if exchange.delivery == .impatient { self.end(.failure(.timedOut)) }
        } else {
            context.flush()
            guard exchange.delivery == .slowBody else { return }
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.slowPause) {
                guard let context = self.context else { return }
                self.send(count, context)
            }
        }
    }

    // MARK: Receiving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (self.unwrapInboundIn(data), self.state) {
        case (.head(let head), .posting(let exchange)):
            // Interim answers, such as 100, come before the answer (RFC 9110, section 15.2).
            if !(100...199 ~= head.status.code) { self.state = .answering(exchange, head) }
        case (.end, .answering(let exchange, let head)):
            // A server may answer before it has read the post; then the rest of the post would be read as another.
            let isReusable = exchange.isSent && head.isKeepAlive
            self.end(self.answer(head), isReusable: isReusable)
        default: break
        }
    }

    private func answer(_ head: HTTPResponseHead) -> NotificationAnswer {
        let isRedirect = 300...399 ~= head.status.code
        if isRedirect, let location = head.headers.first(name: "Location"), self.target.isSame(as: location) {
            return .failure(.circularRedirect)
        }
        return .status(Int(head.status.code))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted:
            guard case .opening(let exchange) = self.state else { return }
            self.state = .idle
            if let exchange { self.start(exchange, context) }
        case ChannelEvent.inputClosed:
            self.closed()
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.closed()
        context.fireChannelInactive()
    }

    private func closed() {
        switch self.state {
        case .opening: self.end(.failure(self.isSecure ? .tlsIssue : .socketIssue))
        case .posting(let exchange): self.end(.failure(exchange.isSent ? .noResponse : .prematureClose))
        case .answering: self.end(.failure(.prematureClose))
        case .idle: self.end(.failure(.socketIssue))
        case .over: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch (error, self.state) {
        case (_, .opening): self.end(.failure(self.isSecure ? .tlsIssue : .socketIssue))
        case (let error as HTTPParserError, _) where error != .invalidEOFState: self.end(.failure(.invalidResponse))
        case (is TLSError, .posting(let exchange)) where !exchange.isSent: self.end(.failure(.prematureClose))
        case (is TLSError, .posting): self.end(.failure(.noResponse))
        case (_, .answering), (HTTPParserError.invalidEOFState, _): self.end(.failure(.prematureClose))
        default: self.end(.failure(.socketIssue))
        }
    }

    /// Ends the post under way. A connection that is not used again is closed.
    private func end(_ answer: NotificationAnswer, isReusable: Bool = false) {
        let exchange: Exchange?
        switch self.state {
        case .opening(let waiting): exchange = waiting
        case .posting(let posted): exchange = posted
        case .answering(let answered, _): exchange = answered
        case .idle: exchange = nil
        case .over: return
        }
        self.state = isReusable ? .idle : .over(answer)
        exchange?.timeout.cancel()
        exchange?.promise.succeed(Outcome(answer: answer, isReusable: isReusable))
        if !isReusable { self.context?.close(promise: nil) }
    }
}
