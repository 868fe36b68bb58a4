import FerryOpenSSL
import NIOCore
import NIOPosix
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A connection to the gateway, made of sockets and TLS alone, that ends in any way.
final class ChaosConnection: Sendable {
    /// How long a peer may take to end a connection. Not one that answers needs it.
    private static let limit: TimeAmount = .minutes(2)

    private let channel: any Channel
    private let end: End

    private init(_ channel: any Channel, _ end: End) {
        self.channel = channel
        self.end = end
    }

    /// Connects, and does not wait for TLS.
    ///
    /// - Parameters:
    ///   - tls: nil: no TLS.
    ///   - address: the address to connect from; nil: any.
    static func open(
        to host: String,
        port: Int,
        _ tls: TLSContext?,
        from address: String? = nil
    ) async throws -> ChaosConnection {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let end = End(eventLoop)
        var bootstrap = ClientBootstrap(group: eventLoop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    var limits = TLSHandler.Limits()
                    limits.handshake = .seconds(120)
                    let tls = try tls.map { try TLSHandler(client: $0, serverName: "localhost", limits: limits) }
                    let handlers: [any ChannelHandler] = [Transport(end)] + (tls.map { [$0] } ?? []) + [Reader(end)]
                    try channel.pipeline.syncOperations.addHandlers(handlers)
                }
            }
        if let address { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: address, port: 0)) }
        return ChaosConnection(try await bootstrap.connect(host: host, port: port).get(), end)
    }

    /// Returns when the system has the bytes.
    func write(_ bytes: [UInt8]) async throws { try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get() }

    /// The bytes that the peer has sent so far.
    var received: [UInt8] { self.end.received.withLock { $0 } }

    func stopReading() async throws { try await self.channel.setOption(.autoRead, value: false).get() }

    /// Sends close_notify and FIN, and reads until the peer has ended its side, too.
    ///
    /// - Returns: whether both sides ended in an orderly way, so that the peer has read everything.
    func finish() async -> Bool {
        try? await self.channel.setOption(.autoRead, value: true).get()
        self.channel.close(mode: .output, promise: nil)
        return await self.ending()
    }

    /// Reads until the peer has ended its side, and then ends this side.
    func readToEnd() async -> Bool {
        // The future never fails.
        try? await self.end.inputEnded.futureResult.get()
        return await self.finish()
    }

    /// Closes the socket, without a word and without a look at what has come.
    func abandon() async { await self.close(resets: false) }

    /// Closes the socket with RST.
    func reset() async { await self.close(resets: true) }

    private func close(resets: Bool) async {
        let (channel, end) = (self.channel, self.end)
        if resets, let socket = channel as? any SocketOptionProvider {
            try? await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        channel.eventLoop.execute { end.transport?.close(promise: nil) }
        _ = await self.ending()
    }

    private func ending() async -> Bool {
        let (eventLoop, end) = (self.channel.eventLoop, self.end)
        let deadline = eventLoop.scheduleTask(in: Self.limit) {
            end.isClean = false
            end.transport?.close(promise: nil)
        }
        defer { deadline.cancel() }
        // The future never fails.
        return (try? await end.ended.futureResult.get()) ?? false
    }

    /// What the handlers know of the connection.
    ///
    /// `@unchecked Sendable`: the variables belong to the event loop.
    private final class End: @unchecked Sendable {
        let received = Mutex<[UInt8]>([])
        let ended: EventLoopPromise<Bool>
        let inputEnded: EventLoopPromise<Void>
        var isClean = true
        /// The context below TLS; nil before and after the connection.
        var transport: ChannelHandlerContext?

        init(_ eventLoop: any EventLoop) {
            self.ended = eventLoop.makePromise()
            self.inputEnded = eventLoop.makePromise()
        }
    }

    /// The handler below TLS.
    private final class Transport: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let end: End

        init(_ end: End) { self.end = end }

        func handlerAdded(context: ChannelHandlerContext) { self.end.transport = context }

        func handlerRemoved(context: ChannelHandlerContext) {
            self.end.transport = nil
            self.end.inputEnded.succeed()
            self.end.ended.succeed(self.end.isClean)
        }
    }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let end: End

        init(_ end: End) { self.end = end }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = self.unwrapInboundIn(data).readableBytesView
            self.end.received.withLock { $0 += bytes }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .inputClosed = event as? ChannelEvent { self.end.inputEnded.succeed() }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.end.isClean = false
            context.close(promise: nil)
        }
    }
}
