import FerryOpenSSL
import FerryTesting
import NIOCore
import NIOPosix
import Synchronization

/// A gateway made of a listener, TLS and a closure, for behaviour that no script can describe.
///
/// It parses frames of command 2 itself, so that it does not depend on Ferry's codec.
final class RawGateway: Sendable {
    /// A frame with its items, in order.
    struct Frame: Sendable {
        var items: [(id: UInt8, bytes: [UInt8])] = []

        subscript(id: UInt8) -> [UInt8]? { self.items.first { $0.id == id }?.bytes }

        /// Whether the frame is a probe. A probe has an empty token, and its answer has no identifier.
        var isProbe: Bool { self[1]?.isEmpty == true }

        /// The number of the notification, which ``Harness/device(_:)`` stores in the token.
        var number: Int? { self[1].map { $0.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) } } }
    }

    /// A reaction to a frame.
    enum Action: Sendable {
        /// The answer to a probe of a gateway that reports no identifier.
        static let answersToProbe: [Action] = [.write([8, 2, 0, 0, 0, 0]), .closeOutput]

        case write([UInt8])
        /// Sends close_notify and FIN. Reading continues.
        case closeOutput
        /// Sends FIN without close_notify. Reading continues.
        case endOutput
        /// Closes both directions without close_notify.
        case drop
        /// Does these actions a little later. Frames that come before are discarded.
        indirect case later([Action])
    }

    /// Called for each frame, with the number of its connection and its number there. Both count from 1.
    typealias Behaviour = @Sendable (_ frame: Frame, _ connection: Int, _ place: Int) -> [Action]

    let port: Int
    private let listener: any Channel
    private let children: Children

    private final class Children: Sendable {
        let channels = Mutex<[any Channel]>([])
    }

    private init(_ listener: any Channel, _ children: Children) {
        self.listener = listener
        self.port = listener.localAddress?.port ?? 0
        self.children = children
    }

    /// Starts a gateway, runs `body`, and stops the gateway.
    static func run(
        _ behaviour: @escaping Behaviour,
        _ body: (RawGateway, TestCredentials) async throws -> Void
    ) async throws {
        let credentials = try TestCredentials()
        let context = try TLSContext(
            server: .init(
                identity: credentials.server,
                maximum: .tls12,
                clientCertificates: .required(credentials.trustRoots)
            )
        )
        let children = Children()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let number = children.channels.withLock { channels in
                        channels.append(channel)
                        return channels.count
                    }
                    let transport = Transport()
                    let handler = Handler(number, transport, behaviour)
                    try channel.pipeline.syncOperations.addHandlers(
                        [transport, try TLSHandler(server: context, limits: .patient), handler] as [any ChannelHandler]
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let gateway = RawGateway(listener, children)
        do {
            try await body(gateway, credentials)
        } catch {
            await gateway.stop()
            throw error
        }
        await gateway.stop()
    }

    var connections: Int { self.children.channels.withLock { $0.count } }

    private func stop() async {
        try? await self.listener.close()
        for channel in self.children.channels.withLock({ $0 }) { try? await channel.close() }
    }

    /// A handler below TLS, for connection ends that TLS does not offer.
    private final class Transport: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private var context: ChannelHandlerContext?

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }
        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }
        func close(_ mode: CloseMode) { self.context?.close(mode: mode, promise: nil) }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let number: Int
        private let transport: Transport
        private let behaviour: Behaviour
        private var buffer = ByteBuffer()
        private var place = 0
        private var isDeaf = false

        init(_ number: Int, _ transport: Transport, _ behaviour: @escaping Behaviour) {
            self.number = number
            self.transport = transport
            self.behaviour = behaviour
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = self.unwrapInboundIn(data)
            self.buffer.writeBuffer(&bytes)
            while !self.isDeaf, let frame = self.nextFrame() {
                self.place += 1
                self.perform(self.behaviour(frame, self.number, self.place), context)
            }
        }

        private func perform(_ actions: [Action], _ context: ChannelHandlerContext) {
            for action in actions {
                switch action {
                case .write(let bytes):
                    context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
                case .closeOutput: context.close(mode: .output, promise: nil)
                case .endOutput: self.transport.close(.output)
                case .drop: self.transport.close(.all)
                case .later(let actions):
                    self.isDeaf = true
                    context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(60)) {
                        if context.channel.isActive { self.perform(actions, context) }
                    }
                }
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .inputClosed = event as? ChannelEvent { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {}

        private func nextFrame() -> Frame? {
            guard let length = self.buffer.getInteger(at: self.buffer.readerIndex + 1, as: UInt32.self),
                self.buffer.readableBytes >= 5 + Int(length)
            else { return nil }
            self.buffer.moveReaderIndex(forwardBy: 5)
            var items = self.buffer.readSlice(length: Int(length)) ?? ByteBuffer()
            var frame = Frame()
            while let (id, length) = items.readMultipleIntegers(as: (UInt8, UInt16).self) {
                frame.items.append((id, items.readBytes(length: Int(length)) ?? []))
            }
            return frame
        }
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
