import FerryOpenSSL
import FerryServer
import FerryTesting
import NIOCore
import NIOHTTP1
import Synchronization

/// A server that takes posts over real sockets and answers them as a test says.
final class AppReceiver: Sendable {
    /// What the server does with a post.
    enum Reply: Sendable {
        case status(Int, location: String? = nil)
        /// Closes without an answer.
        case close
        /// Answers something that is not HTTP.
        case garbage
        /// Announces a longer answer than it sends.
        case half
        /// Never answers.
        case silence
    }

    struct Post: Sendable {
        var head: HTTPRequestHead
        var body: [UInt8]
        /// Whether the post is whole. The others were cut.
        var isWhole: Bool
        /// The connection, counted from 0.
        var connection: Int
    }

    let port: Int
    private let listener: Listener
    private let received: Received

    final class Received: Sendable {
        let posts = Mutex<[Post]>([])
    }

    var posts: [Post] { self.received.posts.withLock { $0 } }

    private init(_ listener: Listener, _ received: Received) {
        self.listener = listener
        self.port = listener.port
        self.received = received
    }

    static func start(
        port: Int = 0,
        credentials: TestCredentials? = nil,
        reply: @escaping @Sendable (Post) -> Reply = { _ in .status(200) }
    ) async throws -> AppReceiver {
        var configuration = Listener.Configuration()
        configuration.port = port
        configuration.tls = try credentials.map {
            try TLSContext(server: .init(identity: $0.server, clientCertificates: .requested))
        }
        let received = Received()
        let listener = try await Listener.bind(configuration, on: nil) { connection in
            Handler(connection.number, received, reply)
        }
        return AppReceiver(listener, received)
    }

    func stop() async { await self.listener.stop(within: .seconds(5)) }

    /// Adds the parts of HTTP before itself.
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let number: Int
        private let received: Received
        private let reply: @Sendable (Post) -> Reply
        private var post: Post?

        init(_ number: Int, _ received: Received, _ reply: @escaping @Sendable (Post) -> Reply) {
            self.number = number
            self.received = received
            self.reply = reply
        }

        func handlerAdded(context: ChannelHandlerContext) {
            do {
                try context.pipeline.syncOperations.addHandlers(
                    [HTTPResponseEncoder(), ByteToMessageHandler(HTTPRequestDecoder())],
                    position: .before(self)
                )
            } catch {
                context.close(promise: nil)
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head):
                self.post = Post(head: head, body: [], isWhole: false, connection: self.number)
            case .body(let bytes): self.post?.body += bytes.readableBytesView
            case .end:
                guard var post = self.post.take() else { return }
                post.isWhole = true
                self.received.posts.withLock { $0.append(post) }
                self.answer(self.reply(post), context)
            }
        }

        private func answer(_ reply: Reply, _ context: ChannelHandlerContext) {
            switch reply {
            case .status(let status, let location):
                var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status))
                head.headers.add(name: "Content-Length", value: "0")
                if let location { head.headers.add(name: "Location", value: location) }
                context.write(self.wrapOutboundOut(.head(head)), promise: nil)
                context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
            case .close: context.close(promise: nil)
            case .half:
                var head = HTTPResponseHead(version: .http1_1, status: .ok)
                head.headers.add(name: "Content-Length", value: "100")
                context.writeAndFlush(self.wrapOutboundOut(.head(head)), promise: nil)
                context.close(promise: nil)
            case .garbage:
                guard let encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
                else { return }
                encoder.writeAndFlush(NIOAny(ByteBuffer(string: "hello, I am no web server\r\n\r\n")), promise: nil)
            case .silence: break
            }
        }

        func channelInactive(context: ChannelHandlerContext) { self.cut() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.cut()
            context.close(promise: nil)
        }

        private func cut() {
            guard let post = self.post.take() else { return }
            self.received.posts.withLock { $0.append(post) }
        }
    }
}
