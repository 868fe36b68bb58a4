@testable internal import FerryServer
internal import NIOCore
internal import NIOEmbedded
internal import Testing

/// The handler in a channel with a clock of its own.
@Suite struct ProxyHeaderHandlerTests {
    /// A handler that notes what it gets.
    private final class Notes: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        enum Note: Hashable {
            case client(String?)
            case active
            case bytes([UInt8])
            case inputClosed
            case inactive
            case fault(ProxyHeaderFault)
            case error
        }

        var all: [Note] = []

        func channelActive(context: ChannelHandlerContext) { self.all.append(.active) }
        func channelInactive(context: ChannelHandlerContext) { self.all.append(.inactive) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.all.append(.bytes(Array(self.unwrapInboundIn(data).readableBytesView)))
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            switch event {
            case let proxied as ProxiedConnection:
                #expect(proxied.roundTrip == .milliseconds(100))
                self.all.append(.client(proxied.client?.ipAddress))
            case ChannelEvent.inputClosed: self.all.append(.inputClosed)
            default: break
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.all.append((error as? ProxyHeaderFault).map { .fault($0) } ?? .error)
        }
    }

    private struct Scene {
        let channel: EmbeddedChannel
        private let notes = Notes()

        init() throws {
            let proxy = try SocketAddress(ipAddress: "::ffff:10.0.0.1", port: 4000)
            let handler = ProxyHeaderHandler(of: proxy, roundTrip: .milliseconds(100), within: .seconds(5))
            self.channel = EmbeddedChannel(handlers: [handler, self.notes])
            try self.channel.connect(to: proxy).wait()
        }

        var noted: [Notes.Note] { self.notes.all }
        var isOpen: Bool { self.channel.isActive }

        func receive(_ bytes: [UInt8]) throws { try self.channel.writeInbound(ByteBuffer(bytes: bytes)) }
        func receive(_ event: ChannelEvent) { self.channel.pipeline.fireUserInboundEventTriggered(event) }
        func wait(_ time: TimeAmount) { self.channel.embeddedEventLoop.advanceTime(by: time) }
    }

    @Test func `the client is named before the connection begins, and then everything passes`() throws {
        let scene = try Scene()
        let header = ProxyHeaderTests.version2()
        try scene.receive(Array(header[..<20]))
        #expect(scene.noted == [])
        try scene.receive(header[20...] + [22, 3])
        try scene.receive([1])
        scene.receive(.inputClosed)
        scene.channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
        scene.wait(.seconds(60))
        #expect(scene.isOpen)
        _ = try scene.channel.finish()
        let begin: [Notes.Note] = [.client(ProxyHeaderTests.client), .active, .bytes([22, 3]), .bytes([1])]
        #expect(scene.noted == begin + [.inputClosed, .error, .inactive])
        #expect(throws: (any Error).self) {
            try scene.channel.pipeline.syncOperations.handler(type: ProxyHeaderHandler.self)
        }
    }

    @Test func `a connection that the header does not name begins with its first byte`() throws {
        let scene = try Scene()
        try scene.receive(Array("PROXY UNKNOWN\r\n".utf8))
        #expect(scene.noted == [])
        try scene.receive([22])
        #expect(scene.noted == [.client(nil), .active, .bytes([22])])
        for header in [Array("PROXY UNKNOWN\r\n".utf8), Self.own] {
            let other = try Scene()
            try other.receive(header + [22])
            #expect(other.noted == [.client(nil), .active, .bytes([22])])
        }
    }

    @Test func `another client at the proxy's address is a client`() throws {
        let scene = try Scene()
        try scene.receive(Array("PROXY TCP4 10.0.0.1 10.0.0.2 4001 2195\r\n".utf8))
        #expect(scene.noted == [.client("10.0.0.1"), .active])
    }

    private static let own = Array("PROXY TCP4 10.0.0.1 10.0.0.2 4000 2195\r\n".utf8)

    @Test(arguments: [[], ProxyHeaderTests.version2(0x20, 0, []), Array("PROXY UNKNOWN\r\n".utf8), Self.own])
    func `a health check is closed without a word, however it ends`(bytes: [UInt8]) throws {
        let endings: [(Scene) throws -> Void] = [
            { $0.receive(.inputClosed) },
            { scene in
                scene.channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
                _ = try scene.channel.finish()
            },
            { $0.wait(.seconds(5)) },
        ]
        for end in endings {
            let scene = try Scene()
            if !bytes.isEmpty { try scene.receive(bytes) }
            if scene.isOpen { try end(scene) }
            #expect(!scene.isOpen)
            #expect(scene.noted == [])
        }
    }

    @Test func `LOCAL is closed at once`() throws {
        let scene = try Scene()
        try scene.receive(ProxyHeaderTests.version2(0x20, 0, []) + [22])
        #expect(!scene.isOpen)
        #expect(scene.noted == [])
    }

    @Test func `bytes that are no header are a fault, and the connection is closed`() throws {
        let scene = try Scene()
        try scene.receive([22, 3, 1])
        #expect(!scene.isOpen)
        #expect(scene.noted == [.fault(.missing(isTLS: true))])
    }

    @Test func `a header that does not end in time, or that is cut short, is a fault`() throws {
        let slow = try Scene()
        for byte in Array("PROXY".utf8) {
            try slow.receive([byte])
            #expect(slow.isOpen)
            slow.wait(.seconds(1))
        }
        #expect(!slow.isOpen)
        #expect(slow.noted == [.fault(.late(.seconds(5)))])
        let cut = try Scene()
        try cut.receive(Array("PROXY".utf8))
        cut.receive(.inputClosed)
        #expect(!cut.isOpen)
        #expect(cut.noted == [.fault(.cutShort)])
        let reset = try Scene()
        try reset.receive(Array("PROXY".utf8))
        reset.channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
        _ = try reset.channel.finish()
        #expect(reset.noted == [.fault(.cutShort)])
    }
}
