internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// An HTTP proxy over loopback that supports CONNECT and can misbehave.
package final class TestProxy: Sendable {
    package enum Behaviour: Sendable {
        /// Connects, if the request contains this `Proxy-Authorization`.
        case tunnel(authorization: String? = nil)
        /// Like ``tunnel(authorization:)``, but the answer comes byte by byte.
        case tunnelSlowly
        /// Sends this text, and then closes if `closes` is true.
        case say(String, closes: Bool)
        case silence
        /// Opens a tunnel, and closes it with the first bytes of TLS.
        case dieInTheMiddle
        /// Opens a tunnel that leads nowhere.
        case leadNowhere
    }

    package let port: Int
    private let listener: any Channel
    private let state: State

    fileprivate final class State: Sendable {
        let requests = Mutex<[String]>([])
        let channels = Mutex<[any Channel]>([])
    }

    private init(_ listener: any Channel, _ state: State) {
        self.listener = listener
        self.port = listener.localAddress?.port ?? 0
        self.state = state
    }

    /// Starts a proxy, runs `body`, and stops the proxy.
    package static func run(_ behaviour: Behaviour, _ body: (TestProxy) async throws -> Void) async throws {
        let state = State()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    state.channels.withLock { $0.append(channel) }
                    try channel.pipeline.syncOperations.addHandler(ProxyHandler(behaviour, state))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let proxy = TestProxy(listener, state)
        do {
            try await body(proxy)
        } catch {
            await proxy.stop()
            throw error
        }
        await proxy.stop()
    }

    /// The heads of the requests that arrived.
    package var requests: [String] { self.state.requests.withLock { $0 } }

    /// Closes all connections of clients.
    package func closeTunnels() async {
        for channel in self.state.channels.withLock({ $0 }) { try? await channel.close() }
    }

    private func stop() async {
        try? await self.listener.close()
        await self.closeTunnels()
    }
}

/// Reads a request, then answers it, then passes bytes on.
private final class ProxyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let behaviour: TestProxy.Behaviour
    private let state: TestProxy.State
    private var head = ""
    private var isAnswered = false
    private var upstream: (any Channel)?

    init(_ behaviour: TestProxy.Behaviour, _ state: TestProxy.State) {
        self.behaviour = behaviour
        self.state = state
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        if self.isAnswered {
            if case .dieInTheMiddle = self.behaviour { return context.close(promise: nil) }
            self.upstream?.writeAndFlush(bytes, promise: nil)
            return
        }
        self.head += String(buffer: bytes)
        guard self.head.hasSuffix("\r\n\r\n") else { return }
        self.isAnswered = true
        let head = self.head
        self.state.requests.withLock { $0.append(head) }
        switch self.behaviour {
        case .silence: break
        case .dieInTheMiddle, .leadNowhere: self.say("HTTP/1.1 200 OK\r\n\r\n", context)
        case .say(let text, let closes):
            self.say(text, context)
            if closes { context.close(promise: nil) }
        case .tunnel(let authorization):
            if let authorization, !head.contains("\r\nProxy-Authorization: \(authorization)\r\n") {
                return self.say("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", context)
            }
            self.connect(head, context) { self.say("HTTP/1.1 200 Connection established\r\n\r\n", context) }
        case .tunnelSlowly:
            self.connect(head, context) {
                for character in "HTTP/1.1 200 OK\r\nVia: test\r\n\r\n".unicodeScalars {
                    self.say(String(character), context)
                }
            }
        }
    }

    private func say(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }

    private func connect(_ head: String, _ context: ChannelHandlerContext, _ then: @escaping () -> Void) {
        let target = head.split(separator: " ")[1].split(separator: ":")
        let client = context.channel
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { $0.pipeline.addHandler(Relay(to: client)) }
            .connect(host: String(target[0]), port: Int(target[1]) ?? 0)
            .assumeIsolated()
            .whenSuccess { channel in
                self.upstream = channel
                then()
            }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.upstream?.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}

/// Passes bytes from the upstream to the client.
private final class Relay: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let client: any Channel

    init(to client: any Channel) {
        self.client = client
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.client.writeAndFlush(self.unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.client.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
