import FerryOpenSSL
import NIOCore
import NIOEmbedded
import Testing

/// The rules that hold in some states of the handler only.
@Suite("Handler: states")
struct StateTests {
    private func code(of future: EventLoopFuture<Void>) -> TLSError.Code? {
        let error = #expect(throws: TLSError.self) { try future.wait() }
        return error?.code
    }

    private func inputClosed(_ side: Side) {
        side.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    private func closeNotify(_ side: Side) throws {
        try side.channel.triggerUserOutboundEvent(TLSHandler.OutboundEvent.closeNotify).wait()
    }

    // MARK: Idle

    @Test("Before its beginning the handler passes the end of the input and a close on, and fails what waits")
    func idle() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        let write = pair.client.send("never")
        let halfClose = pair.client.channel.close(mode: .output)
        inputClosed(pair.client)
        #expect(pair.client.application.entries == [.inputClosed])
        try pair.client.channel.close().wait()
        #expect(pair.client.wire.entries.contains(.closeAll))
        #expect(pair.client.application.errors.isEmpty)
        #expect(code(of: write) == .closed)
        #expect(code(of: halfClose) == .closed)
    }

    // MARK: Writes and half closes

    @Test("A write fails with the reason of the state: this side is closed, or the whole connection")
    func writes() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.client.channel.close(promise: nil)
        #expect(throws: ChannelError.ioOnClosedChannel) { try pair.client.send("closing").wait() }
        #expect(throws: ChannelError.ioOnClosedChannel) { try pair.client.channel.close(mode: .output).wait() }
        pair.server.channel.close(mode: .output, promise: nil)
        pair.server.channel.close(promise: nil)
        #expect(throws: ChannelError.outputClosed) { try pair.server.send("half closed before").wait() }
        #expect(throws: ChannelError.outputClosed) { try pair.server.channel.close(mode: .output).wait() }
    }

    @Test("A half close in the handshake refuses writes and a second half close")
    func earlyHalfClose() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        try pair.connect()
        pair.client.channel.close(mode: .output, promise: nil)
        #expect(throws: ChannelError.outputClosed) { try pair.client.send("late").wait() }
        #expect(throws: ChannelError.outputClosed) { try pair.client.channel.close(mode: .output).wait() }
        // Only close_notify and a half close end this side.
        try closeNotify(pair.server)
        let write = pair.server.send("not late")
        try pair.exchange()
        try write.wait()
        #expect(pair.client.application.entries.contains(.read("not late")))
    }

    @Test("A half close that waits fails with the failure of the handshake, which is told first")
    func failedHalfClose() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        try pair.connect()
        let write = pair.client.channel.write(ByteBuffer(string: "never"))
        let halfClose = pair.client.channel.close(mode: .output)
        var told = 0
        for future in [write, halfClose] {
            future.assumeIsolated().whenFailure { _ in told = pair.client.application.errors.count }
        }
        pair.loop.advanceTime(by: .seconds(10))
        #expect(code(of: write) == .handshakeTimeout)
        #expect(code(of: halfClose) == .handshakeTimeout)
        #expect(told == 1)
        #expect(!pair.client.wire.entries.contains(.closeOutput))
    }

    @Test("A close in the handshake fails a half close that waits")
    func closedHalfClose() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        try pair.connect()
        let halfClose = pair.client.channel.close(mode: .output)
        try pair.client.channel.close().wait()
        #expect(throws: ChannelError.ioOnClosedChannel) { try halfClose.wait() }
        #expect(pair.client.application.entries == [.active, .inactive])
    }

    @Test("A half close behind the peer's close_notify closes the channel")
    func secondHalfClose() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        try pair.server.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        pair.client.channel.close(mode: .output, promise: nil)
        try pair.exchange()
        let before = pair.server.wire.entries.count
        let closed = pair.server.channel.close(mode: .output)
        try closed.wait()
        #expect(pair.server.wire.entries.dropFirst(before) == [.write, .closeAll])
        try pair.exchange()
        #expect(!pair.client.channel.isActive)
        #expect(pair.server.application.errors.isEmpty)
        #expect(pair.client.application.errors.isEmpty)
    }

    // MARK: close_notify alone

    @Test("close_notify by an event follows all writes, and leaves the socket's output open")
    func closeNotifyOnly() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        try pair.server.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        let before = pair.client.wire.entries.count
        let write = pair.client.channel.write(ByteBuffer(string: "all"))
        try closeNotify(pair.client)
        try write.wait()
        #expect(pair.client.wire.entries.dropFirst(before) == [.write])
        #expect(throws: ChannelError.outputClosed) { try pair.client.send("late").wait() }
        // A second event has no effect.
        try closeNotify(pair.client)
        #expect(pair.client.wire.entries.count == before + 1)
        try pair.exchange()
        #expect(pair.server.application.entries.suffix(2) == [.read("all"), .inputClosed])
        pair.server.send("answer")
        try pair.exchange()
        #expect(pair.client.application.entries.last == .read("answer"))
    }

    @Test("After close_notify by an event, the peer's end closes the channel", arguments: [true, false])
    func closeNotifyThenEnd(isClean: Bool) throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        for side in [pair.client, pair.server] {
            try side.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        }
        try closeNotify(pair.client)
        if isClean { pair.server.channel.close(mode: .output, promise: nil) } else { inputClosed(pair.client) }
        try pair.exchange()
        if isClean { #expect(pair.client.application.entries.suffix(2) == [.inputClosed, .inactive]) }
        #expect(pair.client.application.errors.map(\.code) == (isClean ? [] : [.uncleanShutdown]))
        pair.loop.advanceTime(by: .seconds(5))
        #expect(!pair.client.channel.isActive)
        #expect(!pair.client.wire.entries.contains(.closeOutput))
    }

    // MARK: Failures

    @Test("Bytes before a bad record are delivered, then the failure, once")
    func badRecord() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.server.send("good")
        var bytes = try #require(try pair.server.channel.readOutbound(as: ByteBuffer.self))
        bytes.writeRepeatingByte(0xFF, count: 100)
        try pair.client.channel.writeInbound(bytes)
        let entries = pair.client.application.entries
        #expect(entries.dropFirst(2).first == .read("good"))
        #expect(pair.client.application.errors.count == 1)
        #expect(entries.count == 5 && entries.last == .inactive)
    }

    @Test("A failed server drops what comes, and tells no second failure")
    func droppedInput() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        try pair.server.channel.writeInbound(ByteBuffer(repeating: 0xFF, count: 100))
        let before = pair.server.application.entries
        #expect(pair.server.application.errors.count == 1)
        pair.client.send("more")
        let bytes = try #require(try pair.client.channel.readOutbound(as: ByteBuffer.self))
        try pair.server.channel.writeInbound(bytes)
        try pair.server.channel.writeInbound(ByteBuffer(repeating: 0xFF, count: 100))
        #expect(pair.server.application.entries == before)
        #expect(throws: ChannelError.ioOnClosedChannel) { try pair.server.send("answer").wait() }
        pair.server.endOfStream()
        #expect(pair.server.application.entries == before + [.inactive])
    }

    @Test("A failed server shuts its output when the alert has left, and closes when the peer has ended, too")
    func lingering() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.server.wire.isStuck = true
        try pair.server.channel.writeInbound(ByteBuffer(repeating: 0xFF, count: 100))
        let closed = pair.server.channel.close()
        #expect(pair.server.wire.entries.last == .write)
        inputClosed(pair.server)
        #expect(pair.server.channel.isActive)
        for promise in pair.server.wire.stuck { promise?.succeed() }
        #expect(pair.server.wire.entries.suffix(2) == [.closeOutput, .closeAll])
        try closed.wait()
    }

    @Test("A server whose peer has ended its side does not linger")
    func noLingering() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        inputClosed(pair.server)
        #expect(pair.server.application.entries.suffix(2) == [.error(.uncleanShutdown), .inputClosed])
        try pair.server.channel.writeInbound(ByteBuffer(repeating: 0xFF, count: 100))
        #expect(pair.server.wire.entries.last == .closeAll)
        #expect(pair.server.application.errors.count == 2)
    }

    // MARK: Closing

    @Test("A failure while the connection closes is told, and ends the closing")
    func failureInClosing() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        let closed = pair.client.channel.close()
        try pair.client.channel.writeInbound(ByteBuffer(repeating: 0xFF, count: 100))
        try closed.wait()
        #expect(pair.client.application.errors.count == 1)
        #expect(pair.client.application.entries.last == .inactive)
        #expect(pair.client.application.errors.first?.code != .shutdownTimeout)
    }

    @Test("A closing waits for its last bytes when the peer has ended already")
    func lastBytes() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.client.wire.isStuck = true
        let closed = pair.client.channel.close()
        inputClosed(pair.client)
        #expect(pair.client.channel.isActive)
        for promise in pair.client.wire.stuck { promise?.succeed() }
        try closed.wait()
        #expect(pair.client.application.errors.isEmpty)
        #expect(pair.client.application.entries.last == .inactive)
    }

    @Test("While it closes, the handler reads on without being asked")
    func readsWhileClosing() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        try pair.client.channel.syncOptions?.setOption(.autoRead, value: false)
        pair.server.send("unread")
        let bytes = try #require(try pair.server.channel.readOutbound(as: ByteBuffer.self))
        pair.client.channel.close(promise: nil)
        let before = pair.client.wire.reads
        try pair.client.channel.writeInbound(bytes)
        #expect(pair.client.wire.reads == before + 1)
        #expect(pair.client.application.entries == [.active, .handshake(nil)])
    }

    @Test("Bytes that answer one read, and a read inside their delivery, leave one read under way")
    func readInside() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        try pair.client.channel.syncOptions?.setOption(.autoRead, value: false)
        pair.client.application.react = { entry, context in
            if case .read = entry { context.read() }
        }
        pair.client.channel.read()
        let before = pair.client.wire.reads
        pair.server.send("one")
        try pair.exchange()
        #expect(pair.client.wire.reads == before + 1)
        // The read from inside is still open: behind an incomplete record, the handler reads again.
        pair.server.send("two")
        var record = try #require(try pair.server.channel.readOutbound(as: ByteBuffer.self))
        try pair.client.channel.writeInbound(record.readSlice(length: 3) ?? ByteBuffer())
        #expect(pair.client.wire.reads == before + 2)
    }
}
