internal import FerryServer
internal import NIOCore
internal import NIOEmbedded
internal import Testing

@Suite struct SocketHandlerTests {
    /// A handler that counts the reads that reach the socket.
    private final class Reads: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var count = 0

        func read(context: ChannelHandlerContext) {
            self.count += 1
            context.read()
        }
    }

    @Test func `reads as it is asked without a pace`() throws {
        let reads = Reads()
        let channel = EmbeddedChannel(handlers: [reads, SocketHandler()])
        for _ in 0..<3 {
            channel.read()
            try channel.writeInbound(ByteBuffer(bytes: [1]))
        }
        #expect(reads.count == 3)
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(bytes: [1]))
    }

    @Test func `asks once for what may not be read yet`() throws {
        let reads = Reads()
        let channel = EmbeddedChannel(handlers: [reads, SocketHandler(pace: ReadingPace(bytesPerSecond: 1))])
        channel.read()
        try channel.writeInbound(ByteBuffer(repeating: 0, count: 3_600))
        channel.read()
        channel.read()
        #expect(reads.count == 1)
        // The pace uses the real clock, but the channel's timers use a simulated one. Advance it to run the timer.
        channel.embeddedEventLoop.advanceTime(to: .distantFuture)
        #expect(reads.count == 2)
    }

    @Test func `lets nothing through once it has stopped`() throws {
        let reads = Reads()
        let socket = SocketHandler(pace: ReadingPace(bytesPerSecond: 1))
        let channel = EmbeddedChannel(handlers: [reads, socket])
        channel.read()
        try channel.writeInbound(ByteBuffer(repeating: 0, count: 3_600))
        channel.read()
        socket.stopReading()
        channel.embeddedEventLoop.advanceTime(to: .distantFuture)
        channel.read()
        try channel.writeInbound(ByteBuffer(bytes: [7]))
        #expect(reads.count == 1)
        #expect(try channel.readInbound(as: ByteBuffer.self)?.readableBytes == 3_600)
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    }
}
