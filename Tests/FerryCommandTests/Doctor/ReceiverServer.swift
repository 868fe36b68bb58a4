import Ferry
import FerryOpenSSL
import NIOCore
import NIOHTTP1

/// A receiver with something wrong with it.
struct ReceiverServer: Sendable {
    struct Reply: Sendable {
        var status: Int
        var headers: HTTPHeaders = [:]
        var body = ""
        /// Nil: no answer comes.
        var delay: TimeAmount? = .zero
    }

    /// Nil: no TLS.
    var tls: TLSContext?
    /// The connection ends with the first byte above.
    var cutsAbove = Int.max
    /// The answer to a method and the number of bytes that came with it.
    var reply: @Sendable (HTTPMethod, Int) -> Reply

    /// The handlers of a connection.
    func handlers() throws -> [any ChannelHandler] {
        var handlers: [any ChannelHandler] = []
        if let tls { handlers.append(try TLSHandler(server: tls)) }
        return handlers + [
            HTTPResponseEncoder(), ByteToMessageHandler(HTTPRequestDecoder()), HTTPServerProtocolErrorHandler(),
            Handler(self),
        ]
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let server: ReceiverServer
        private var method = HTTPMethod.GET
        private var size = 0

        init(_ server: ReceiverServer) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head): (self.method, self.size) = (head.method, 0)
            case .body(let bytes):
                self.size += bytes.readableBytes
                if self.size > self.server.cutsAbove { context.close(promise: nil) }
            case .end:
                let reply = self.server.reply(self.method, self.size)
                guard let delay = reply.delay else { return }
                context.eventLoop.assumeIsolated().scheduleTask(in: delay) { self.send(reply, context) }
            }
        }

        private func send(_ reply: Reply, _ context: ChannelHandlerContext) {
            var headers = reply.headers
            headers.replaceOrAdd(name: "Content-Length", value: "\(reply.body.utf8.count)")
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: reply.status), headers: headers)
            context.write(self.wrapOutboundOut(.head(head)), promise: nil)
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: reply.body)))), promise: nil)
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

extension DoctorHarness {
    /// Runs `ferry doctor` with the URL of a server that answers as `reply` says.
    func examine(
        path: String = "/apple",
        identity: TLSIdentity? = nil,
        options: [String] = [],
        cutsAbove: Int = .max,
        _ reply: @escaping @Sendable (HTTPMethod, Int) -> ReceiverServer.Reply
    ) async throws -> Report {
        let identity = try identity ?? self.authority.server()
        let tls = try TLSContext(server: .init(identity: identity))
        let server = ReceiverServer(tls: tls, cutsAbove: cutsAbove, reply: reply)
        var report: Report?
        try await self.withServer(server.handlers) { port in
            report = try await self.doctor(["https://localhost:\(port)\(path)"] + self.ca + options)
        }
        guard let report else { throw CancellationError() }
        return report
    }
}
