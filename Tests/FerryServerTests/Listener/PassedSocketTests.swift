internal import FerryServer
internal import FerryServiceWorld
internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import Testing

@Suite(.timeLimit(.minutes(10))) struct PassedSocketTests {
    private static func listener(_ passed: PassedSocket, _ greeting: String) async throws -> Listener {
        var configuration = Listener.Configuration()
        configuration.passed = passed
        return try await Listener.bind(configuration, on: nil) { _ in Greeting(greeting) }
    }

    @Test func `a passed socket tells its address, and whether only this machine reaches it`() throws {
        let parent = try ParentSocket()
        let socket = try PassedSocket(parent.passed(), name: "binary")
        #expect(socket.host == "127.0.0.1")
        #expect((socket.port ?? 0) > 0)
        #expect(socket.isLocal)
        #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        close(socket.descriptor)
    }

    @Test func `a descriptor that is no listening socket is an error`() throws {
        let silent = try ParentSocket(listens: false)
        let file = open("/dev/null", O_RDONLY)
        defer { close(file) }
        for (descriptor, words) in [
            (silent.descriptor, "does not listen"), (file, "is no open socket"), (9999, "9999"),
        ] {
            let fault = #expect(throws: ServiceFault.self) { try PassedSocket(descriptor, name: "binary") }
            #expect(fault?.description.contains(words) == true, "\(fault?.description ?? "")")
        }
    }

    @Test func `a listener serves who connected before, and leaves the socket's queue as long as it may be`()
        async throws
    {
        let parent = try ParentSocket()
        let limit = parent.queueLimit
        let passed = try PassedSocket(parent.passed(), name: "binary")
        let port = try #require(passed.port)
        let early = try await Caller.call(port)
        let listener = try await Self.listener(passed, "hello")
        #expect(listener.port == port && listener.host == "127.0.0.1")
        #expect(try await early.get() == "hello")
        #expect(limit > 0 && parent.queueLimit >= limit)
        await listener.stop(within: .seconds(60))
    }

    @Test func `connections between two listeners wait, and none is refused`() async throws {
        let parent = try ParentSocket()
        var greetings: [EventLoopFuture<String>] = []
        var served = 0
        for round in 0..<5 {
            let passed = try PassedSocket(parent.passed(), name: "binary")
            let port = try #require(passed.port)
            let listener = try await Self.listener(passed, "\(round)")
            for _ in 0..<20 { greetings.append(try await Caller.call(port)) }
            for greeting in greetings {
                #expect(try await greeting.get() == "\(round)")
                served += 1
            }
            await listener.stop(within: .seconds(60))
            greetings = []
            for _ in 0..<50 { greetings.append(try await Caller.call(port)) }
        }
        #expect(served == 5 * 20 + 4 * 50)
    }

    /// Sends a text to whoever connects.
    private final class Greeting: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let text: String

        init(_ text: String) { self.text = text }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: self.text)), promise: nil)
        }
    }

    /// A client that keeps what it hears first; an empty text if it hears nothing.
    private final class Caller: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let promise: EventLoopPromise<String>

        private init(_ promise: EventLoopPromise<String>) { self.promise = promise }

        /// Connects, and returns what it will hear.
        static func call(_ port: Int) async throws -> EventLoopFuture<String> {
            let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
            let promise = eventLoop.makePromise(of: String.self)
            _ = try await ClientBootstrap(group: eventLoop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Caller(promise))
                    }
                }
                .connect(host: "127.0.0.1", port: port)
                .get()
            return promise.futureResult
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.promise.succeed(String(buffer: self.unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) { self.promise.succeed("") }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
