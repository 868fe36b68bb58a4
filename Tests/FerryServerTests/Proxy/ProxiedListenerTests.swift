internal import FerryOpenSSL
internal import FerryPlatform
@testable internal import FerryServer
internal import NIOCore
internal import Testing

/// A listener behind a proxy, with real sockets. The proxy has the address 127.0.0.2.
@Suite(.timeLimit(.minutes(10)))
struct ProxiedListenerTests {
    private static let proxy = "127.0.0.2"
    private static let stranger = "127.0.0.1"

    /// A handler that says who its client is, and closes.
    private final class Greeter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var client = "nobody"

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            switch event {
            case let proxied as ProxiedConnection: self.client = proxied.client?.ipAddress ?? "unnamed"
            case ChannelEvent.inputClosed: context.close(promise: nil)
            default: context.fireUserInboundEventTriggered(event)
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: self.unwrapInboundIn(data))
            context.writeAndFlush(NIOAny(ByteBuffer(string: "\(self.client): \(text)")), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }

    private static func with(
        _ body: (_ listener: Listener, _ tls: TLSContext) async throws -> Void
    ) async throws {
        let authority = try ThrowAwayCA()
        let server = try TLSContext(server: .init(identity: authority.server()))
        let trusting = try TLSContext(client: .init(trustRoots: authority.trustRoots))
        let proxies = try TrustedProxies([#require(IPNetwork(self.proxy))])
        func configure(_ configuration: inout Listener.Configuration) {
            configuration.tls = server
            configuration.proxies = proxies
        }
        try await ListenerTests.with(configure: configure, accept: { _ in Greeter() }) { listener in
            try await body(listener, trusting)
        }
    }

    @Test func `a proxy's client is known by the header, in both versions`() async throws {
        try await Self.with { listener, tls in
            for (header, client) in ProxyHeaderTests.headers {
                let connection = try await Client.connect(to: listener, tls: tls, from: Self.proxy, header: header)
                connection.send("hello")
                #expect(try await connection.received() == "\(client ?? "unnamed"): hello")
                connection.close()
            }
            #expect(listener.counts.handshakes == ProxyHeaderTests.headers.count)
        }
    }

    @Test func `a stranger's header is not read, and a stranger needs none`() async throws {
        try await Self.with { listener, tls in
            let honest = try await Client.connect(to: listener, tls: tls, from: Self.stranger)
            honest.send("hello")
            #expect(try await honest.received() == "nobody: hello")
            let liar = try await Client.connect(
                to: listener,
                tls: tls,
                from: Self.stranger,
                header: ProxyHeaderTests.version2()
            )
            try await liar.ended()
            try await ListenerTests.reaches { listener.counts.handshakeFailures == 1 }
        }
    }

    @Test func `a proxy without a header is refused`() async throws {
        try await Self.with { listener, tls in
            let mute = try await Client.connect(to: listener, tls: tls, from: Self.proxy)
            try await mute.ended()
            try await ListenerTests.reaches { listener.counts.handshakeFailures == 1 }
            #expect(listener.counts.handshakes == 0)
        }
    }

    @Test func `a health check counts as no failure`() async throws {
        try await Self.with { listener, tls in
            for header in [[], ProxyHeaderTests.version2(0x20, 0, []), Array("PROXY UNKNOWN\r\n".utf8)] {
                let check = try await Client.connect(to: listener, from: Self.proxy, header: header)
                check.close()
                try await check.ended()
            }
            let client = try await Client.connect(
                to: listener,
                tls: tls,
                from: Self.proxy,
                header: ProxyHeaderTests.version2()
            )
            client.send("hello")
            #expect(try await client.received() == "198.51.100.7: hello")
            try await ListenerTests.reaches { listener.openConnections == 1 }
            #expect(listener.counts.handshakeFailures == 0)
        }
    }

    @Test func `other proxies hold for the next connection`() async throws {
        try await Self.with { listener, tls in
            let authority = try ThrowAwayCA()
            let server = try TLSContext(server: .init(identity: authority.server()))
            let other = try TLSContext(client: .init(trustRoots: authority.trustRoots))
            let proxies = try TrustedProxies([#require(IPNetwork(Self.stranger))])
            let before = try await Client.connect(
                to: listener,
                tls: tls,
                from: Self.proxy,
                header: ProxyHeaderTests.version2()
            )
            before.send("hello")
            #expect(try await before.received() == "198.51.100.7: hello")
            listener.use(server, proxies)
            let direct = try await Client.connect(to: listener, tls: other, from: Self.proxy)
            direct.send("hello")
            #expect(try await direct.received() == "nobody: hello")
            let proxied = try await Client.connect(
                to: listener,
                tls: other,
                from: Self.stranger,
                header: ProxyHeaderTests.version2()
            )
            proxied.send("hello")
            #expect(try await proxied.received() == "198.51.100.7: hello")
        }
    }
}
