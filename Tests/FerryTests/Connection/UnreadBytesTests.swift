#if os(Linux)
import NIOCore
import NIOPosix
import Testing

@testable import Ferry

struct UnreadBytesTests {
    @Test func `show when they have come, and not when they were read`() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Greeter()) }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let read = group.next().makePromise(of: Void.self)
        let client = try await ClientBootstrap(group: group)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Reader(read)) }
            }
            .connect(to: try #require(listener.localAddress))
            .get()
        func hasUnread() async throws -> Bool { try await client.eventLoop.submit { client.hasUnreadBytes }.get() }

        #expect(try await !hasUnread())
        client.writeAndFlush(ByteBuffer(string: "?"), promise: nil)
        while try await !hasUnread() { await Task.yield() }
        client.read()
        try await read.futureResult.get()
        #expect(try await !hasUnread())
        try await client.close()
        // A closed socket must not make the caller wait.
        #expect(try await hasUnread())
        try await listener.close()
    }
}

/// Echoes the bytes that it receives.
private final class Greeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(data, promise: nil)
    }
}

private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let read: EventLoopPromise<Void>

    init(_ read: EventLoopPromise<Void>) { self.read = read }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { self.read.succeed() }
}
#endif
