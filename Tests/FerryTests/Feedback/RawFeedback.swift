import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import NIOCore
import NIOPosix
import NIOTLS

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A feedback service whose every action a test controls.
final class RawFeedback: Sendable {
    /// A connection after its handshake.
    final class Connection: Sendable {
        private let channel: any Channel
        private let tls: NIOLoopBound<ChannelHandlerContext>

        init(_ context: ChannelHandlerContext) {
            self.channel = context.channel
            self.tls = NIOLoopBound(context, eventLoop: context.eventLoop)
        }

        /// Sends bytes. Returns once the system has them.
        func send(_ tuples: [FeedbackTuple], dropLast missing: Int = 0) async throws {
            var buffer = ByteBuffer()
            for tuple in tuples {
                buffer.writeMultipleIntegers(UInt32(tuple.time.timeIntervalSince1970), UInt16(tuple.token.bytes.count))
                buffer.writeBytes(tuple.token.bytes)
            }
            try await self.send(Array(buffer.readableBytesView.dropLast(missing)))
        }

        func send(_ bytes: [UInt8]) async throws {
            try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes))
        }

        /// Sends close_notify and FIN.
        func close() {
            self.channel.close(promise: nil)
        }

        /// Sends RST.
        func reset() async throws {
            let provider = self.channel as? any SocketOptionProvider
            try await provider?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
            self.channel.eventLoop.execute { self.tls.value.close(promise: nil) }
        }

        /// Waits until the client has ended the connection.
        func ended() async throws {
            try await self.channel.closeFuture.get()
        }
    }

    let port: Int
    let credentials: TestCredentials
    /// The connections, in the order in which their handshakes complete.
    let connections: AsyncStream<Connection>
    private let listener: any Channel

    private init(_ listener: any Channel, _ credentials: TestCredentials, _ connections: AsyncStream<Connection>) {
        self.listener = listener
        self.port = listener.localAddress?.port ?? 0
        self.credentials = credentials
        self.connections = connections
    }

    /// Starts a service, runs `body`, and stops the service.
    static func run(_ body: (RawFeedback) async throws -> Void) async throws {
        let credentials = try TestCredentials()
        let context = try TLSContext(
            server: .init(
                identity: credentials.server,
                maximum: .tls12,
                clientCertificates: .required(credentials.trustRoots)
            )
        )
        let (connections, continuation) = AsyncStream.makeStream(of: Connection.self)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handlers: [any ChannelHandler] = [
                        try TLSHandler(server: context, limits: .patient), Opener(continuation),
                    ]
                    try channel.pipeline.syncOperations.addHandlers(handlers)
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let service = RawFeedback(listener, credentials, connections)
        do {
            try await body(service)
        } catch {
            try await listener.close()
            throw error
        }
        try await listener.close()
    }

    var configuration: FeedbackConfiguration {
        FeedbackConfiguration(port: self.port, credentials: self.credentials)
    }

    private final class Opener: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let continuation: AsyncStream<Connection>.Continuation

        init(_ continuation: AsyncStream<Connection>.Continuation) {
            self.continuation = continuation
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case .handshakeCompleted = event as? TLSUserEvent,
                let tls = try? context.pipeline.syncOperations.context(handlerType: TLSHandler.self)
            else { return }
            self.continuation.yield(Connection(tls))
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }
}
