import NIOCore
import NIOPosix
import Synchronization

/// A path over loopback that forgets its connections when the test says so, as a NAT or a firewall does after a while.
final class ForgettingProxy: Sendable {
    /// What happens to the next byte of a forgotten connection.
    enum Behaviour: CaseIterable {
        case reset
        case silence
    }

    let port: Int
    private let listener: any Channel
    private let paths: Paths

    final class Paths: Sendable {
        let channels = Mutex<[any Channel]>([])
        /// How often everything was forgotten.
        let generation = Mutex(0)
        /// The number of connections that were used after they were forgotten.
        let forgotten = Mutex(0)
    }

    private init(_ listener: any Channel, _ paths: Paths) {
        self.listener = listener
        self.port = listener.localAddress?.port ?? 0
        self.paths = paths
    }

    /// Starts a path to a port of this machine, runs `body`, and ends the path.
    static func run(
        to port: Int,
        _ behaviour: Behaviour,
        _ body: (ForgettingProxy) async throws -> Void
    ) async throws {
        let paths = Paths()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                paths.channels.withLock { $0.append(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    let path = Path(to: port, behaviour, paths)
                    try channel.pipeline.syncOperations.addHandler(PathEnd(path, isClient: true))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let proxy = ForgettingProxy(listener, paths)
        do {
            try await body(proxy)
        } catch {
            await proxy.stop()
            throw error
        }
        await proxy.stop()
    }

    /// Forgets the present connections.
    func forget() { self.paths.generation.withLock { $0 += 1 } }

    var forgotten: Int { self.paths.forgotten.withLock { $0 } }

    private func stop() async {
        try? await self.listener.close()
        for channel in self.paths.channels.withLock({ $0 }) { try? await channel.close() }
    }
}

/// One connection of the path. Both ends run on one event loop.
private final class Path {
    private let port: Int
    private let behaviour: ForgettingProxy.Behaviour
    private let paths: ForgettingProxy.Paths
    private let generation: Int
    private var isForgotten = false
    private var ends: [Bool: any Channel] = [:]

    init(to port: Int, _ behaviour: ForgettingProxy.Behaviour, _ paths: ForgettingProxy.Paths) {
        self.port = port
        self.behaviour = behaviour
        self.paths = paths
        self.generation = paths.generation.withLock { $0 }
    }

    func opened(_ channel: any Channel, isClient: Bool) {
        self.ends[isClient] = channel
        guard isClient else {
            // The end of a forgotten connection that the server does not notice is closed with the path.
            self.paths.channels.withLock { $0.append(channel) }
            for end in self.ends.values { _ = end.setOption(.autoRead, value: true) }
            return
        }
        let server = NIOLoopBound(PathEnd(self, isClient: false), eventLoop: channel.eventLoop)
        ClientBootstrap(group: channel.eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(server.value)
                }
            }
            .connect(host: "127.0.0.1", port: self.port)
            .whenFailure { _ in channel.close(promise: nil) }
    }

    func carry(_ bytes: ByteBuffer, fromClient: Bool) {
        if !self.isForgotten, self.paths.generation.withLock({ $0 }) > self.generation {
            self.isForgotten = true
            self.paths.forgotten.withLock { $0 += 1 }
        }
        guard !self.isForgotten else {
            if self.behaviour == .reset, fromClient { self.reset() }
            return
        }
        self.ends[!fromClient]?.writeAndFlush(bytes, promise: nil)
    }

    /// Ends the client's connection with RST.
    private func reset() {
        guard let client = self.ends[true], let socket = client as? any SocketOptionProvider else { return }
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in
            client.close(promise: nil)
        }
    }

    func closed(isClient: Bool) {
        self.ends.removeValue(forKey: isClient)
        guard !self.isForgotten else { return }
        self.ends.removeValue(forKey: !isClient)?.close(promise: nil)
    }
}

private final class PathEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let path: Path
    private let isClient: Bool

    init(_ path: Path, isClient: Bool) {
        self.path = path
        self.isClient = isClient
    }

    func channelActive(context: ChannelHandlerContext) { self.path.opened(context.channel, isClient: self.isClient) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.path.carry(self.unwrapInboundIn(data), fromClient: self.isClient)
    }

    func channelInactive(context: ChannelHandlerContext) { self.path.closed(isClient: self.isClient) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
