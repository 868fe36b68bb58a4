import FerryOpenSSL
import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

/// A handler that writes, flushes and reads inside each of its callbacks, and closes in the end.
///
/// It writes ascending numbers, so that a lost, doubled or overtaken write shows.
final class ReentrantPeer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let total: UInt32
    private let closes: Bool
    private(set) var written: UInt32 = 0
    private(set) var completed: UInt32 = 0
    private(set) var received: [UInt32] = []
    private var rest = ByteBuffer()

    init(total: UInt32, closes: Bool) {
        self.total = total
        self.closes = closes
    }

    private func act(_ context: ChannelHandlerContext) {
        guard written < total else {
            if closes { context.close(promise: nil) }
            return
        }
        for isFlushed in [false, true] {
            let promise = context.eventLoop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenSuccess {
                self.completed += 1
                self.act(context)
            }
            let buffer = ByteBuffer(integer: written)
            written += 1
            context.write(wrapOutboundOut(buffer), promise: promise)
            if isFlushed { context.flush() }
        }
        context.read()
    }

    func channelActive(context: ChannelHandlerContext) { act(context) }
    func channelReadComplete(context: ChannelHandlerContext) { act(context) }
    func channelInactive(context: ChannelHandlerContext) { act(context) }
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) { act(context) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { act(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        rest.writeBuffer(&bytes)
        while let number = rest.readInteger(as: UInt32.self) { received.append(number) }
        act(context)
    }
}

struct ReentranceTests {
    private func run(closes: Bool, version: TLSVersion) throws -> (client: ReentrantPeer, server: ReentrantPeer) {
        let pair = try ChannelPair.unconnected(version: version)
        defer { pair.finish() }
        let client = ReentrantPeer(total: 400, closes: closes)
        let server = ReentrantPeer(total: 400, closes: false)
        try pair.client.channel.pipeline.syncOperations.addHandler(client, position: .after(pair.client.tls))
        try pair.server.channel.pipeline.syncOperations.addHandler(server, position: .after(pair.server.tls))
        try pair.connect()
        try pair.exchange()
        return (client, server)
    }

    @Test(
        arguments: [
            TLSVersion.tls12, .tls13,
        ]
    )
    func `a peer that calls back from everywhere loses, doubles and reorders no bytes`(version: TLSVersion) throws {
        let (client, server) = try run(closes: false, version: version)
        #expect(client.received == Array(0..<400))
        #expect(server.received == Array(0..<400))
        #expect(client.completed == 400)
        #expect(server.completed == 400)
    }

    @Test(
        arguments: [
            TLSVersion.tls12, .tls13,
        ]
    )
    func `a peer that closes inside its own callbacks has sent all flushed bytes`(version: TLSVersion) throws {
        let (client, server) = try run(closes: true, version: version)
        #expect(server.received == Array(0..<400))
        #expect(client.completed == 400)
        #expect(client.received == Array(0..<UInt32(client.received.count)))
    }

    /// A write that fails inside a callback makes the channel read the remaining bytes and close, still inside the
    /// callback.
    @Test func `bytes that arrive with the end of the connection are delivered first, even inside a callback`() throws {
        let pair = try ChannelPair.unconnected(version: .tls12)
        defer { pair.finish() }
        try pair.connect()
        pair.server.application.react = { entry, context in
            guard entry == .handshake(nil) else { return }
            context.channel.writeAndFlush(ByteBuffer(string: "no"), promise: nil)
        }
        // Carries bytes until the server has sent the end of its handshake and the text after it.
        var fromServer: [ByteBuffer] = []
        while fromServer.count < 2 {
            while let bytes = try pair.client.channel.readOutbound(as: ByteBuffer.self) {
                try pair.server.channel.writeInbound(bytes)
            }
            while let bytes = try pair.server.channel.readOutbound(as: ByteBuffer.self) { fromServer.append(bytes) }
            if pair.server.application.entries.contains(.handshake(nil)) { break }
            for bytes in fromServer { try pair.client.channel.writeInbound(bytes) }
            fromServer = []
        }
        try #require(fromServer.count >= 2)
        let word = fromServer.removeLast()
        pair.client.application.react = { entry, context in
            guard entry == .handshake(nil) else { return }
            context.channel.pipeline.fireChannelRead(word)
            context.channel.pipeline.fireChannelInactive()
        }
        for bytes in fromServer { try pair.client.channel.writeInbound(bytes) }
        let entries = pair.client.application.entries
        #expect(entries.contains(.read("no")))
        #expect(entries.last == .inactive)
    }
}
