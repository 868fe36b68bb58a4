internal import FerryServer
internal import NIOCore
internal import NIOHTTP1

/// The handler that reads requests of one connection and writes their answers: HTTP/1.1, one request at a time.
final class AppStoreRequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The longest body of a request, in bytes. A request for the history has some 200.
    private static let longestBody = 64 << 10

    private enum State {
        case idle
        case reading(HTTPRequestHead, body: [UInt8])
        /// The body was too long; the rest of it is dropped.
        case refused
    }

    private let desk: AppStoreDesk
    private let socket: SocketHandler
    private var state = State.idle

    init(_ desk: AppStoreDesk, socket: SocketHandler) {
        self.desk = desk
        self.socket = socket
    }

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            try context.pipeline.syncOperations.configureHTTPServerPipeline(position: .before(self))
        } catch {
            context.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (self.unwrapInboundIn(data), self.state) {
        case (.head(let head), .idle): self.state = .reading(head, body: [])
        case (.body(let bytes), .reading(let head, var body)):
            body += bytes.readableBytesView
            if body.count > Self.longestBody {
                self.state = .refused
                self.write(AppStoreAnswer(413), isLast: true, context)
            } else {
                self.state = .reading(head, body: body)
            }
        case (.end, .reading(let head, let body)):
            self.state = .idle
            self.answer(head, body, context)
        default: break
        }
    }

    /// Does nothing: after an error, TLS and the channel close by themselves.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func answer(_ head: HTTPRequestHead, _ body: [UInt8], _ context: ChannelHandlerContext) {
        let method: AppStoreAPIRequest.Method =
            switch head.method {
            case .GET: .get
            case .POST: .post
            default: .other
            }
        var request = AppStoreAPIRequest(
            method: method,
            uri: head.uri,
            authorization: head.headers.first(name: "Authorization")
        )
        request.body = body
        let (answer, fault) = self.desk.answer(request)
        let isLast = !head.isKeepAlive
        switch fault {
        case .slow(let time):
            context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) {
                guard context.channel.isActive else { return }
                self.write(answer, isLast: isLast, context)
            }
        case .cut: self.cut(answer, context)
        case .internalError, .tryAgain, .rateLimited, nil: self.write(answer, isLast: isLast, context)
        }
    }

    private func write(_ answer: AppStoreAnswer, isLast: Bool, _ context: ChannelHandlerContext) {
        var head = Self.head(answer)
        if isLast { head.headers.add(name: "Connection", value: "close") }
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        if let body = answer.body {
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        if isLast { context.close(promise: nil) }
    }

    /// Sends a part of an answer, and resets the connection.
    private func cut(_ answer: AppStoreAnswer, _ context: ChannelHandlerContext) {
        context.write(self.wrapOutboundOut(.head(Self.head(answer))), promise: nil)
        let half = (answer.body ?? []).prefix((answer.body?.count ?? 0) / 2)
        context.writeAndFlush(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: half)))), promise: nil)
        self.socket.reset()
    }

    private static func head(_ answer: AppStoreAnswer) -> HTTPResponseHead {
        var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status))
        head.headers.add(name: "Content-Length", value: String(answer.body?.count ?? 0))
        if answer.body != nil { head.headers.add(name: "Content-Type", value: "application/json") }
        if let time = answer.retryAfter { head.headers.add(name: "Retry-After", value: String(time)) }
        return head
    }
}
