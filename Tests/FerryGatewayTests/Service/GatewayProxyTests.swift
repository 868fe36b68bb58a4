import Ferry
import FerryOpenSSL
import FerryPlatform
import FerryTesting
import NIOCore
import NIOPosix
import NIOTLS
import Testing

@testable import FerryGateway
@testable import FerryServer

/// The gateway behind a proxy with the address 127.0.0.1.
@Suite(.timeLimit(.minutes(10))) struct GatewayProxyTests {
    private static let header = "PROXY TCP4 198.51.100.7 203.0.113.1 56324 2195\r\n"

    /// Makes a connection that begins with `text`, and waits for its end.
    ///
    /// - Parameters:
    ///   - identity: the certificate of the handshake that follows; nil if nothing follows.
    ///   - ends: whether the client ends the connection.
    ///   - leaves: whether the client ends the connection after its handshake.
    private func connect(
        _ harness: GatewayHarness,
        _ text: String,
        as identity: TLSIdentity? = nil,
        ends: Bool = false,
        leaves: Bool = false
    ) async throws {
        final class End: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            var leaves = false
            func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
            func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
                if self.leaves, case TLSUserEvent.handshakeCompleted = event { context.close(promise: nil) }
            }
        }
        let tls = try TLSContext(client: .init(trustRoots: harness.credentials.trustRoots, identity: identity))
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(FirstBytes(text))
                    guard identity != nil else { return }
                    let handler = try TLSHandler(client: tls, serverName: "localhost")
                    let end = End()
                    end.leaves = leaves
                    try channel.pipeline.syncOperations.addHandlers(handler, end)
                }
            }
            .connect(host: harness.gateway.host, port: harness.gateway.port).get()
        if ends { channel.close(promise: nil) }
        try await channel.closeFuture.get()
    }

    private func run(
        _ change: (inout Gateway.Configuration) -> Void = { _ in },
        _ body: (GatewayHarness) async throws -> Void
    ) async throws {
        let proxies = try TrustedProxies([#require(IPNetwork("127.0.0.0/8"))], roundTrip: .milliseconds(100))
        try await GatewayHarness.run {
            $0.proxies = proxies
            change(&$0)
        } _: { harness in
            try await body(harness)
        }
    }

    /// Waits for the first events.
    private func events(_ count: Int, of harness: GatewayHarness) async -> [GatewayEvent] {
        while harness.events.all.count < count { await Task.yield() }
        return harness.events.all
    }

    @Test func `a refused client is named by its own address, also in IPv6`() async throws {
        try await self.run { harness in
            let stranger = try ThrowAwayCA().client()
            try await self.connect(harness, Self.header, as: stranger)
            try await self.connect(harness, "PROXY TCP6 2001:db8::7 2001:db8::1 56324 2195\r\n", as: stranger)
            let addresses = await self.events(2, of: harness).compactMap { event -> String? in
                if case .stranger(let address, _) = event { address } else { nil }
            }
            #expect(addresses == ["198.51.100.7", "2001:db8::7"])
        }
    }

    @Test func `a client that the proxy does not name has the proxy's address`() async throws {
        try await self.run { harness in
            try await self.connect(harness, "PROXY UNKNOWN\r\n", as: ThrowAwayCA().client())
            guard case .stranger("127.0.0.1", _) = await self.events(1, of: harness)[0] else {
                Issue.record("\(harness.events.all)")
                return
            }
        }
    }

    @Test func `a proxy that sends no header, or a wrong one, is named with the fault`() async throws {
        try await self.run { harness in
            try await self.connect(harness, "", as: ThrowAwayCA().client())
            try await self.connect(harness, "PROXY TCP4 ::1 ::1 1 2\r\n")
            let faults: [ProxyHeaderFault] = [.missing(isTLS: true), .malformed("an address in it is none of TCP4")]
            let events = await self.events(2, of: harness)
            #expect(events == faults.map { .stranger(address: "127.0.0.1", $0.description) })
            #expect(try await harness.gateway.figures.loop.refusals == [.proxy: 2])
        }
    }

    @Test func `health checks leave no line and no count`() async throws {
        try await self.run { harness in
            for text in ["", "PROXY UNKNOWN\r\n"] {
                for _ in 0..<3 { try await self.connect(harness, text, ends: true) }
            }
            try await self.connect(harness, Self.header, as: ThrowAwayCA().client())
            let events = await self.events(1, of: harness)
            #expect(events.count == 1)
            guard case .stranger("198.51.100.7", _) = events[0] else {
                Issue.record("\(events)")
                return
            }
            #expect(try await harness.gateway.figures.loop.refusals == [.certificate: 1])
        }
    }

    @Test func `connections are told with the client's address, unless the proxy names none`() async throws {
        let connections = Locked<[(client: ClientAddress, isOpen: Bool)]>([])
        try await self.run {
            $0.onConnection = { client, isOpen in connections.withLock { $0.append((client, isOpen)) } }
        } _: { harness in
            let client = harness.credentials.client
            for header in ["PROXY UNKNOWN\r\n", Self.header, "PROXY TCP6 2001:db8::7 2001:db8::1 56324 2195\r\n"] {
                let count = connections.withLock { $0.count }
                try await self.connect(harness, header, as: client, leaves: true)
                guard header != "PROXY UNKNOWN\r\n" else { continue }
                while connections.withLock({ $0.count }) < count + 2 { await Task.yield() }
            }
            let told = connections.withLock { $0 }
            #expect(told.map(\.isOpen) == [true, false, true, false])
            #expect(told.allSatisfy { $0.client.client == "old stack" })
            let addresses = told.map(\.client.address)
            #expect(addresses == ["198.51.100.7", "198.51.100.7", "2001:db8::/64", "2001:db8::/64"])
        }
    }

    @Test func `a client whose header is on its way when the gateway ends completes its handshake`() async throws {
        final class Handshake: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            let promise: EventLoopPromise<Bool>
            init(_ promise: EventLoopPromise<Bool>) { self.promise = promise }
            func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
                if case TLSUserEvent.handshakeCompleted = event { self.promise.succeed(true) }
            }
            func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
            func channelInactive(context: ChannelHandlerContext) { self.promise.succeed(false) }
        }
        try await self.run { harness in
            let client = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            let connect = { try await client.connect(host: harness.gateway.host, port: harness.gateway.port).get() }
            let channel = try await connect()
            async let isOver = harness.gateway.shutDown(within: GatewayHarness.forever)
            // The listener closes soon.
            while let other = try? await connect() { other.close(promise: nil) }
            let identity = harness.credentials.client
            let tls = try TLSContext(client: .init(trustRoots: harness.credentials.trustRoots, identity: identity))
            let handshake = channel.eventLoop.makePromise(of: Bool.self)
            try await channel.writeAndFlush(ByteBuffer(string: Self.header))
            try await channel.eventLoop.submit {
                let handler = try TLSHandler(client: tls, serverName: "localhost")
                try channel.pipeline.syncOperations.addHandlers(handler, Handshake(handshake))
            }.get()
            #expect(try await handshake.futureResult.get())
            channel.close(promise: nil)
            #expect(await isOver)
        }
    }

    @Test func `the round trip to a proxied client has a floor, and no ceiling`() throws {
        let client = try SocketAddress(ipAddress: "198.51.100.7", port: 1)
        var source = ConnectionSource()
        #expect(source.roundTrip(.microseconds(200)) == .microseconds(200))
        #expect(!source.isProxied && source.bytes.isEmpty)
        source.note(ProxiedConnection(client: client, roundTrip: .milliseconds(100)))
        #expect(source.isProxied && source.bytes == [198, 51, 100, 7] && source.name == "198.51.100.7")
        #expect(source.roundTrip(.microseconds(200)) == .milliseconds(100))
        #expect(source.roundTrip(.milliseconds(300)) == .milliseconds(300))
        #expect(source.roundTrip(.zero) == .milliseconds(100))
    }
}
