internal import FerryOpenSSL
internal import FerryTesting
internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import NIOTLS

/// A client that writes bytes, and keeps all bytes that it receives until the connection ends.
final class RawClient: Sendable {
    /// The end of a connection, and the bytes that were read before it.
    struct Ending: Sendable {
        var bytes: [UInt8] = []
        /// True if the gateway sent close_notify.
        var wasOrderly = false
        var wasReset = false
        var tlsError: TLSError?
    }

    private let channel: any Channel
    private let firstBytes: EventLoopFuture<[UInt8]>
    private let ending: EventLoopFuture<Ending>

    private init(_ channel: any Channel, _ collector: Collector) {
        self.channel = channel
        self.firstBytes = collector.firstBytes.futureResult
        self.ending = collector.ending.futureResult
    }

    /// Connects. Returns when TLS is established or the connection has ended.
    static func connect(
        to gateway: SimulatedGateway,
        _ credentials: TestCredentials,
        showingCertificate: Bool = true
    ) async throws -> RawClient {
        let context = try TLSContext(
            client: .init(
                trustRoots: credentials.trustRoots,
                identity: showingCertificate ? credentials.client : nil
            )
        )
        let (host, port) = (gateway.host, gateway.port)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let established = eventLoop.makePromise(of: RawClient.self)
        return try await ClientBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let collector = Collector(channel, established)
                    let tls = try TLSHandler(client: context, serverName: host)
                    try channel.pipeline.syncOperations.addHandlers([tls, collector] as [any ChannelHandler])
                }
            }
            .connect(host: host, port: port)
            .flatMap { _ in established.futureResult }
            .get()
    }

    func send(_ bytes: [UInt8]) {
        self.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// Ends the output. The gateway's answer is still read.
    func finish() {
        self.channel.close(mode: .output, promise: nil)
    }

    /// Returns the first six bytes that arrive, or fewer if the connection ends first.
    func response() async throws -> [UInt8] {
        try await self.firstBytes.get()
    }

    /// Waits for the end of the connection, and returns it.
    func end() async throws -> Ending {
        try await self.ending.get()
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        let firstBytes: EventLoopPromise<[UInt8]>
        let ending: EventLoopPromise<Ending>
        private let channel: any Channel
        private let established: EventLoopPromise<RawClient>
        private var found = Ending()

        init(_ channel: any Channel, _ established: EventLoopPromise<RawClient>) {
            self.channel = channel
            self.established = established
            self.firstBytes = channel.eventLoop.makePromise()
            self.ending = channel.eventLoop.makePromise()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.found.bytes += Array(self.unwrapInboundIn(data).readableBytesView)
            if self.found.bytes.count >= 6 { self.firstBytes.succeed(Array(self.found.bytes.prefix(6))) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            switch event as? TLSUserEvent {
            case .handshakeCompleted: self.established.succeed(RawClient(self.channel, self))
            case .shutdownCompleted: self.found.wasOrderly = true
            case nil: break
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if let error = error as? IOError, error.errnoCode == ECONNRESET { self.found.wasReset = true }
            if let error = error as? TLSError { self.found.tlsError = error }
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.established.succeed(RawClient(self.channel, self))
            self.firstBytes.succeed(self.found.bytes)
            self.ending.succeed(self.found)
        }
    }
}
