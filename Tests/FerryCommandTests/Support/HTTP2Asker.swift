import FerryHTTP2
import FerryOpenSSL
import FerryTesting
import NIOCore
import NIOPosix

/// Makes one request over HTTP/2, with the client certificate of a `--tls-dir`.
struct HTTP2Asker {
    private let context: TLSContext
    private let port: Int

    init(tlsDirectory: String, port: Int) throws {
        let credentials = try TLSDirectory.open(tlsDirectory)
        self.context = try TLSContext(
            client: .init(
                trustRoots: credentials.trustRoots,
                identity: credentials.client,
                applicationProtocols: ["h2"]
            )
        )
        self.port = port
    }

    /// Makes a request and returns the status. 0 if no answer comes.
    func ask(token: String) async throws -> Int {
        let context = self.context
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let status = eventLoop.makePromise(of: Int.self)
        _ = try await ClientBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try TLSHandler(client: context, serverName: "localhost")
                    let request = try Request(token: token, status: status)
                    try channel.pipeline.syncOperations.addHandlers([tls, request] as [any ChannelHandler])
                }
            }
            .connect(host: "localhost", port: self.port)
            .get()
        return try await status.futureResult.get()
    }

    private final class Request: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private static let body: StaticString = #"{"aps":{}}"#
        private var session: HTTP2Session
        private let status: EventLoopPromise<Int>

        init(token: String, status: EventLoopPromise<Int>) throws {
            self.session = try HTTP2Session(role: .client)
            self.status = status
            var block = HeaderBlock()
            let path = Array("/3/device/\(token)".utf8)
            block.append(":method", "POST")
            block.append(":scheme", "https")
            block.append(":path", upTo: path.count) { target in
                for (index, byte) in path.enumerated() { target[index] = byte }
                return path.count
            }
            block.append(":authority", "localhost")
            let body = UnsafeBufferPointer(start: Self.body.utf8Start, count: Self.body.utf8CodeUnitCount)
            _ = try self.session.request(block, body: body)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            self.write(context)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            do {
                try self.unwrapInboundIn(data).withUnsafeReadableBytes { try self.session.receive($0) }
            } catch {
                context.close(promise: nil)
            }
            while let event = self.session.nextEvent() {
                guard case .closed(let stream, _) = event else { continue }
                var status = 0
                self.session.forEachField(of: stream) { name, value in
                    guard name.equals(":status") else { return }
                    status = Int(String(decoding: value, as: UTF8.self)) ?? 0
                }
                self.status.succeed(status)
                context.close(promise: nil)
            }
            self.write(context)
        }

        private func write(_ context: ChannelHandlerContext) {
            var bytes = ByteBuffer()
            guard self.session.write(into: &bytes, atMost: .max) else { return }
            context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.status.succeed(0)
        }
    }
}
