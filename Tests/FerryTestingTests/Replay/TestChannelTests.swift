internal import FerryTesting
internal import NIOCore
internal import NIOEmbedded
internal import Testing

/// Replays into a channel without a socket.
@Suite struct TestChannelTests {
    /// A client that runs for an hour. It sends one notification at once and one an hour later, and closes after an
    /// answer.
    private final class Client: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private(set) var answers: [UInt8] = []
        private let first: UInt32

        init(first: UInt32 = 1) { self.first = first }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(
                self.wrapOutboundOut(ByteBuffer(bytes: frames(self.first...self.first))),
                promise: nil
            )
            context.eventLoop.assumeIsolated().scheduleTask(in: .hours(1)) {
                context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: frames(2...2))), promise: nil)
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.answers += Array(self.unwrapInboundIn(data).readableBytesView)
            if self.answers.count == 6 { context.close(promise: nil) }
        }
    }

    private static let session = Transcript(events: [
        Transcript.Event(.zero, .client, .open),
        Transcript.Event(.milliseconds(1), .client, .bytes(frames(1...1))),
        Transcript.Event(.seconds(3600), .client, .bytes(frames(2...2))),
        Transcript.Event(.seconds(3601), .server, .bytes(response(8, 2))),
        Transcript.Event(.seconds(3601), .client, .end),
    ])

    @Test(arguments: [ReplayChaos.Split.asRecorded, .everywhere])
    func `an hour passes in no time`(_ split: ReplayChaos.Split) throws {
        var replay = Replay(Self.session, playing: .server, mode: .exact)
        replay.pace = .recorded
        replay.chaos = ReplayChaos()
        replay.chaos?.split = split
        let client = Client()
        let channel = EmbeddedChannel(handler: client)
        try replay.run(on: channel)
        #expect(client.answers == response(8, 2))
        #expect(!channel.isActive)
    }

    @Test func `a handler that writes something else is a mismatch`() throws {
        let channel = EmbeddedChannel(handler: Client(first: 3))
        let mismatch = #expect(throws: ReplayMismatch.self) {
            try Replay(Self.session, playing: .server, mode: .exact).run(on: channel)
        }
        #expect(mismatch?.found.contains("identifier 3") == true)
        _ = try? channel.finish()
    }

    @Test func `a handler that stays silent is missing after the patience`() throws {
        let channel = EmbeddedChannel()
        let mismatch = #expect(throws: ReplayMismatch.self) {
            try Replay(Self.session, playing: .server).run(on: channel)
        }
        #expect(mismatch?.found == "nothing")
        _ = try? channel.finish()
    }
}
