internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore
internal import NIOPosix
internal import NIOTLS

/// A client of a listener, with TLS or without.
struct Client: Sendable {
    private let channel: any Channel
    private let greeting: EventLoopFuture<ByteBuffer>

    /// - Parameters:
    ///   - address: the own address.
    ///   - header: bytes before TLS.
    static func connect(
        to listener: Listener,
        tls context: TLSContext? = nil,
        from address: String? = nil,
        header: [UInt8] = []
    ) async throws -> Client {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let greeting = eventLoop.makePromise(of: ByteBuffer.self)
        var bootstrap = ClientBootstrap(group: eventLoop)
        if let address { bootstrap = try bootstrap.bind(to: SocketAddress(ipAddress: address, port: 0)) }
        let connected =
            bootstrap
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if !header.isEmpty { try channel.pipeline.syncOperations.addHandler(Header(header)) }
                    if let context {
                        let tls = try TLSHandler(client: context, serverName: listener.host)
                        try channel.pipeline.syncOperations.addHandler(tls)
                    }
                    try channel.pipeline.syncOperations.addHandler(FirstBytes(greeting))
                }
            }
            .connect(host: listener.host, port: listener.port)
        connected.whenFailure { greeting.fail($0) }
        let channel = try await connected.get()
        return Client(channel: channel, greeting: greeting.futureResult)
    }

    func send(_ text: String) {
        self.channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }

    /// Returns the first bytes that arrive; an empty text if the connection ends first.
    func received() async throws -> String {
        String(buffer: try await self.greeting.get())
    }

    func close() {
        self.channel.close(promise: nil)
    }

    /// Waits until the connection has ended.
    func ended() async throws {
        try await self.channel.closeFuture.get()
    }

    /// Sends bytes before all others.
    private final class Header: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(NIOAny(ByteBuffer(bytes: self.bytes)), promise: nil)
            context.fireChannelActive()
        }
    }

    private final class FirstBytes: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let promise: EventLoopPromise<ByteBuffer>

        init(_ promise: EventLoopPromise<ByteBuffer>) {
            self.promise = promise
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.promise.succeed(self.unwrapInboundIn(data))
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.promise.succeed(ByteBuffer())
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
