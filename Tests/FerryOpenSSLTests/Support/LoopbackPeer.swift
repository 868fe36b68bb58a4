import FerryOpenSSL
import NIOCore
import NIOPosix
import NIOTLS

/// One end of a real connection: gathers the bytes that arrive, and lets a test wait for them.
final class Gatherer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct Result: Sendable {
        var text = ByteBuffer()
        var handshakes: [String?] = []
        var errors: [TLSError.Code] = []
        var isClosedByPeer = false
        var version: TLSVersion?
        var cipherSuite: String?
        /// The description of the last error.
        var complaint = ""
        var peer: CertificateSummary?
    }

    private var result = Result()
    private let finished: EventLoopPromise<Result>
    private let start: (@Sendable (any Channel) -> Void)?
    private let reply: (@Sendable (ByteBuffer, any Channel) -> Void)?

    /// - Parameters:
    ///   - finished: receives the result when the channel becomes inactive.
    ///   - start: runs after the handshake.
    ///   - reply: runs for each piece that arrives.
    init(
        finished: EventLoopPromise<Result>,
        start: (@Sendable (any Channel) -> Void)? = nil,
        reply: (@Sendable (ByteBuffer, any Channel) -> Void)? = nil
    ) {
        self.finished = finished
        self.start = start
        self.reply = reply
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        result.text.writeImmutableBuffer(bytes)
        reply?(bytes, context.channel)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted(let name):
            result.handshakes.append(name)
            let tls = try? context.pipeline.syncOperations.handler(type: TLSHandler.self)
            result.version = tls?.version
            result.cipherSuite = tls?.cipherSuite
            result.peer = tls?.peerCertificate
            start?(context.channel)
        case TLSUserEvent.shutdownCompleted, ChannelEvent.inputClosed:
            result.isClosedByPeer = true
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? TLSError else { return }
        result.errors.append(error.code)
        result.complaint = error.description
    }

    func channelInactive(context: ChannelHandlerContext) {
        finished.succeed(result)
    }
}

enum Loopback {
    struct Late: Error {}

    /// The deadline only ends a test that hangs.
    static let deadline = TimeAmount.seconds(300)

    static func gatherer(on loop: any EventLoop) -> EventLoopPromise<Gatherer.Result> {
        let promise = loop.makePromise(of: Gatherer.Result.self)
        loop.scheduleTask(in: deadline) { promise.fail(Late()) }
        return promise
    }

    /// Opens a listener on a free port. It serves one connection.
    static func listen(
        _ context: TLSContext,
        allowsHalfClosure: Bool = false,
        reply: (@Sendable (ByteBuffer, any Channel) -> Void)? = nil
    ) throws -> (channel: any Channel, result: EventLoopFuture<Gatherer.Result>) {
        let group = MultiThreadedEventLoopGroup.singleton
        let finished = gatherer(on: group.next())
        let channel = try ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: allowsHalfClosure)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(server: context, limits: .patient), Gatherer(finished: finished, reply: reply),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        return (channel, finished.futureResult)
    }

    static func connect(
        _ context: TLSContext,
        port: Int,
        serverName: String = "localhost",
        start: (@Sendable (any Channel) -> Void)? = nil,
        reply: (@Sendable (ByteBuffer, any Channel) -> Void)? = nil
    ) throws -> (channel: any Channel, result: EventLoopFuture<Gatherer.Result>) {
        let group = MultiThreadedEventLoopGroup.singleton
        let finished = gatherer(on: group.next())
        let channel = try ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(client: context, serverName: serverName, limits: .patient),
                        Gatherer(finished: finished, start: start, reply: reply),
                    ])
                }
            }
            .connect(host: "127.0.0.1", port: port).wait()
        return (channel, finished.futureResult)
    }
}

extension TLSHandler.Limits {
    /// Limits for the handshake and the end of the connection that hold on a slow machine too.
    static var patient: Self {
        var limits = Self()
        limits.handshake = .seconds(300)
        limits.shutdown = .seconds(300)
        return limits
    }
}
