import FerryOpenSSL
import NIOCore
import NIOEmbedded
import Testing

struct ClosingTests {
    @Test func `closing sends the flushed bytes and close_notify, waits for the peer's, and then closes`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        let flushed = pair.client.send("last")
        let unflushed = pair.client.channel.write(ByteBuffer(string: "lost"))
        let closed = pair.client.channel.close()
        #expect(pair.client.channel.isActive)
        try flushed.wait()
        #expect(throws: ChannelError.self) { try unflushed.wait() }
        try pair.exchange()
        try closed.wait()
        #expect(pair.server.application.entries == [.active, .handshake(nil), .read("last"), .shutdown, .inactive])
        #expect(pair.client.application.entries == [.active, .handshake(nil), .inactive])
    }

    @Test func `a second close completes with the first, and a third one fails`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        let first = pair.client.channel.close()
        let second = pair.client.channel.close()
        try pair.exchange()
        try first.wait()
        try second.wait()
        #expect(throws: ChannelError.self) { try pair.client.channel.close().wait() }
        #expect(pair.client.wire.entries.filter { $0 == .closeAll }.count == 1)
    }

    @Test func `both sides closing at once end cleanly`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        let client = pair.client.channel.close()
        let server = pair.server.channel.close()
        try pair.exchange()
        try client.wait()
        try server.wait()
        #expect(pair.client.application.errors.isEmpty)
        #expect(pair.server.application.errors.isEmpty)
    }

    @Test func `a peer that does not answer close_notify is given up at the deadline`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        let closed = pair.client.channel.close()
        pair.loop.advanceTime(by: .seconds(4))
        #expect(pair.client.channel.isActive)
        pair.loop.advanceTime(by: .seconds(1))
        #expect(pair.client.application.entries.suffix(2) == [.error(.shutdownTimeout), .inactive])
        try closed.wait()
    }

    @Test func `a socket that does not take the last bytes is given up at the deadline`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.client.wire.isStuck = true
        let closed = pair.client.channel.close()
        try pair.exchange()
        #expect(pair.client.channel.isActive)
        pair.loop.advanceTime(by: .seconds(5))
        try closed.wait()
        #expect(!pair.client.channel.isActive)
        for promise in pair.client.wire.stuck { promise?.succeed() }
    }

    @Test func `a close before or during the handshake closes at once and fails waiting writes`() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        try pair.connect()
        let write = pair.client.send("never")
        let closed = pair.client.channel.close()
        try closed.wait()
        #expect(pair.client.application.entries == [.active, .inactive])
        #expect(throws: ChannelError.self) { try write.wait() }
    }

    @Test func `the end of the stream without close_notify is an error, reported once and first`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.client.endOfStream()
        #expect(pair.client.application.entries.suffix(2) == [.error(.uncleanShutdown), .inactive])
    }

    @Test func `the peer's end of stream after our close_notify is not an error`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        let closed = pair.client.channel.close()
        pair.client.endOfStream()
        #expect(pair.client.application.errors.isEmpty)
        try closed.wait()
    }

    @Test func `a half close flushes, says close_notify, shuts the socket's output, and goes on reading`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        try pair.server.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        let before = pair.client.wire.entries.count
        let write = pair.client.channel.write(ByteBuffer(string: "six bytes"))
        let closed = pair.client.channel.close(mode: .output)
        try write.wait()
        try closed.wait()
        #expect(pair.client.wire.entries.dropFirst(before) == [.write, .closeOutput])
        try pair.exchange()
        #expect(pair.server.application.entries.suffix(2) == [.read("six bytes"), .inputClosed])
        #expect(throws: ChannelError.outputClosed) { try pair.client.send("late").wait() }
        #expect(throws: ChannelError.outputClosed) { try pair.client.channel.close(mode: .output).wait() }
        pair.server.send("answer")
        try pair.exchange()
        #expect(pair.client.application.entries.last == .read("answer"))
        // After close_notify, the socket's end of the stream must add no event.
        pair.server.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(pair.server.application.entries.filter { $0 == .inputClosed }.count == 1)
        pair.server.channel.close(promise: nil)
        try pair.exchange()
        #expect(!pair.client.channel.isActive)
        #expect(!pair.server.channel.isActive)
        #expect(pair.client.application.errors.isEmpty)
    }

    @Test func `a half close in the handshake waits for its end`() throws {
        let pair = try ChannelPair.unconnected(version: .tls12)
        defer { pair.finish() }
        try pair.server.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        try pair.connect()
        pair.client.channel.write(ByteBuffer(string: "all"), promise: nil)
        let closed = pair.client.channel.close(mode: .output)
        #expect(!pair.client.wire.entries.contains(.closeOutput))
        try pair.exchange()
        try closed.wait()
        #expect(pair.server.application.entries == [.active, .handshake(nil), .read("all"), .inputClosed])
        #expect(pair.client.wire.entries.last == .closeOutput)
    }

    @Test func `an end of stream without close_notify is an error even if half closure is allowed`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        try pair.server.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        pair.server.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(pair.server.application.entries.suffix(2) == [.error(.uncleanShutdown), .inputClosed])
        // The server can still send an answer.
        pair.server.send("answer")
        try pair.exchange()
        #expect(pair.client.application.entries.last == .read("answer"))
    }

    @Test(arguments: ["active", "handshake", "read", "shutdown", "error"])
    func `closing from inside any callback is safe`(place: String) throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        pair.client.application.react = { entry, context in
            switch (place, entry) {
            case ("active", .active), ("handshake", .handshake), ("read", .read), ("shutdown", .shutdown),
                ("error", .error):
                context.close(promise: nil)
                context.close(promise: nil)
            default: break
            }
        }
        try pair.connect()
        try pair.exchange()
        if place == "error" {
            try pair.client.channel.writeInbound(ByteBuffer(repeating: 0, count: 100))
        } else if pair.server.channel.isActive {
            pair.server.send("one")
            pair.server.send("two")
            try pair.exchange()
            pair.server.channel.close(promise: nil)
        }
        try pair.exchange()
        #expect(pair.client.application.entries.last == .inactive)
        #expect(pair.client.application.entries.filter { $0 == .inactive }.count == 1)
    }

    @Test func `data that arrives during the close is dropped, but an alert is not`() throws {
        let ca = try ThrowAwayCA()
        let pair = try ChannelPair(
            client: TLSContext(client: .init(trustRoots: ca.trustRoots)),
            server: TLSContext(server: .init(identity: ca.server(), clientCertificates: .required(ca.trustRoots)))
        )
        defer { pair.finish() }
        pair.client.application.react = { entry, context in
            if entry == .handshake(nil) { context.close(promise: nil) }
        }
        try pair.connect()
        try pair.exchange()
        #expect(pair.client.application.entries.suffix(2) == [.error(.certificateRejected), .inactive])
    }
}
