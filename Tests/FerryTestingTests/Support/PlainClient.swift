internal import NIOCore
internal import NIOPosix

/// A client without TLS that counts the bytes it receives.
final class PlainClient: Sendable {
    private let channel: any Channel
    private let response: EventLoopFuture<Void>
    private let end: EventLoopFuture<Int>

    private init(_ channel: any Channel, _ counter: Counter) {
        self.channel = channel
        self.response = counter.response.futureResult
        self.end = counter.end.futureResult
    }

    static func connect(to host: String, port: Int) async throws -> PlainClient {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let made = eventLoop.makePromise(of: PlainClient.self)
        return try await ClientBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let counter = Counter(channel.eventLoop)
                    try channel.pipeline.syncOperations.addHandler(counter)
                    made.succeed(PlainClient(channel, counter))
                }
            }
            .connect(host: host, port: port)
            .flatMap { _ in made.futureResult }
            .get()
    }

    func send(_ bytes: [UInt8]) {
        self.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// Waits for six bytes.
    func receivesResponse() async throws { try await self.response.get() }

    /// Waits for the end of the connection, and returns the number of received bytes.
    func received() async throws -> Int { try await self.end.get() }

    func close() async throws { try await self.channel.close() }

    private final class Counter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        let response: EventLoopPromise<Void>
        let end: EventLoopPromise<Int>
        private var count = 0

        init(_ eventLoop: any EventLoop) {
            self.response = eventLoop.makePromise()
            self.end = eventLoop.makePromise()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.count += self.unwrapInboundIn(data).readableBytes
            if self.count >= 6 { self.response.succeed() }
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.response.succeed()
            self.end.succeed(self.count)
        }
    }
}
