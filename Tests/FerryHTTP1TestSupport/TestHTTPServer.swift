internal import FerryCore
package import FerryHTTP1
package import FerryOpenSSL
internal import FerryServer
internal import NIOCore
package import NIOHTTP1

/// A server of HTTP/1.1 on a free port, over real sockets, with or without TLS.
package final class TestHTTPServer: Sendable {
    package struct Request: Sendable {
        package var method: HTTPMethod
        package var uri: String
        package var headers: HTTPHeaders
        package var body: [UInt8]
        /// The number of the connection, from 1.
        package var connection: Int

        package func header(_ name: String) -> String? { self.headers.first(name: name) }
    }

    package enum Reply: Sendable {
        case answer(Int, headers: HTTPHeaders = [:], [UInt8] = [])
        /// These bytes, as they are.
        case raw(String, thenCloses: Bool)
        /// The connection is closed without an answer.
        case close
        case silence

        package static func json(_ text: String) -> Reply { .json(200, text) }

        package static func json(_ status: Int, headers: HTTPHeaders = [:], _ text: String) -> Reply {
            .answer(status, headers: headers, Array(text.utf8))
        }
    }

    private let listener: Listener
    private let log: Log
    package let scheme: HTTPURL.Scheme

    private final class Log: Sendable {
        let requests = Locked<[Request]>([])
    }

    /// - Parameter isTLSOn: whether an identity for `localhost` of `authority` is shown.
    package static func start(
        _ authority: ThrowAwayCA? = nil,
        dnsNames: [String] = ["localhost"],
        _ reply: @escaping @Sendable (Request) -> Reply
    ) async throws -> TestHTTPServer {
        var configuration = Listener.Configuration()
        if let authority {
            let identity = try authority.server(dnsNames: dnsNames, ipAddresses: [])
            configuration.tls = try TLSContext(server: .init(identity: identity))
        }
        configuration.limits.closing = .milliseconds(200)
        let log = Log()
        let listener = try await Listener.bind(configuration, on: nil) { connection in
            Handler(connection.number, log, reply)
        }
        return TestHTTPServer(listener, log, authority == nil ? .http : .https)
    }

    private init(_ listener: Listener, _ log: Log, _ scheme: HTTPURL.Scheme) {
        self.listener = listener
        self.log = log
        self.scheme = scheme
    }

    package var port: Int { self.listener.port }
    package var requests: [Request] { self.log.requests.withLock { $0 } }
    package var connectionCount: Int { Set(self.requests.map(\.connection)).count }

    package func url(_ target: String = "/", host: String? = nil) throws -> HTTPURL {
        let host = host ?? (self.scheme == .https ? "localhost" : "127.0.0.1")
        return try HTTPURL("\(self.scheme.rawValue)://\(host):\(self.port)\(target)")
    }

    package func stop() async { await self.listener.stop(within: .seconds(2)) }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let number: Int
        private let log: Log
        private let reply: @Sendable (Request) -> Reply
        private var request: Request?

        init(_ number: Int, _ log: Log, _ reply: @escaping @Sendable (Request) -> Reply) {
            self.number = number
            self.log = log
            self.reply = reply
        }

        func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            do {
                try pipeline.configureHTTPServerPipeline(position: .before(self))
            } catch {
                context.close(promise: nil)
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head):
                self.request = Request(
                    method: head.method,
                    uri: head.uri,
                    headers: head.headers,
                    body: [],
                    connection: self.number
                )
            case .body(let bytes):
                self.request?.body += bytes.readableBytesView
            case .end:
                guard let request = self.request else { return }
                self.log.requests.withLock { $0.append(request) }
                self.perform(self.reply(request), context)
            }
        }

        private func perform(_ reply: Reply, _ context: ChannelHandlerContext) {
            switch reply {
            case .answer(let status, var headers, let body):
                headers.replaceOrAdd(name: "Content-Length", value: "\(body.count)")
                let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
                context.write(self.wrapOutboundOut(.head(head)), promise: nil)
                context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
                context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
                if headers.first(name: "Connection") == "close" { context.close(promise: nil) }
            case .raw(let text, let thenCloses):
                let encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
                encoder?.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
                if thenCloses { context.close(promise: nil) }
            case .close:
                context.close(promise: nil)
            case .silence:
                break
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if let event = event as? ChannelEvent, event == .inputClosed { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
