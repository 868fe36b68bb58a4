import FerryOpenSSL
import NIOCore
import NIOEmbedded
import Testing

@Suite("Handler: handshake")
struct HandshakeTests {
    @Test("Both sides tell the end of the handshake once, then carry data", arguments: [TLSVersion.tls12, .tls13])
    func carriesData(version: TLSVersion) throws {
        let pair = try ChannelPair.connected(version: version)
        defer { pair.finish() }
        pair.client.send("up")
        pair.server.send("down")
        try pair.exchange()
        #expect(pair.client.application.entries == [.active, .handshake(nil), .read("down")])
        #expect(pair.server.application.entries == [.active, .handshake(nil), .read("up")])
        #expect(pair.client.tls.version == version)
    }

    @Test("A server knows the round trip to its client from the handshake", arguments: [TLSVersion.tls12, .tls13])
    func handshakeRoundTrip(version: TLSVersion) throws {
        let pair = try ChannelPair.unconnected(version: version)
        defer { pair.finish() }
        try pair.connect()
        #expect(pair.server.tls.handshakeRoundTrip == nil)
        try pair.exchange(roundTrip: .milliseconds(300))
        #expect(pair.server.tls.handshakeRoundTrip == .milliseconds(300))
        // A client that is silent afterwards changes nothing.
        pair.server.send("down")
        try pair.exchange()
        pair.client.send("up")
        try pair.exchange(roundTrip: .seconds(60))
        #expect(pair.server.tls.handshakeRoundTrip == .milliseconds(300))
    }

    @Test("What is flushed before the handshake ends goes out when it has ended, and only that")
    func earlyFlush() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        let first = pair.client.send("flushed")
        let second = pair.client.channel.write(ByteBuffer(string: " unflushed"))
        try pair.connect()
        try pair.exchange()
        #expect(pair.server.application.entries == [.active, .handshake(nil), .read("flushed")])
        try first.wait()
        pair.client.channel.flush()
        try pair.exchange()
        #expect(pair.server.application.entries.last == .read(" unflushed"))
        try second.wait()
    }

    @Test("Many writes become one record and complete together, an empty one too")
    func coalescing() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        let before = pair.client.wire.entries.count
        let texts = ["a", "", "b", "", "c"]
        let results = texts.map { pair.client.channel.write(ByteBuffer(string: $0)) }
        pair.client.channel.flush()
        #expect(pair.client.wire.entries.count == before + 1)
        for result in results { try result.wait() }
        let produced = pair.client.tls.ciphertextBytesProduced
        try pair.client.send("").wait()
        #expect(pair.client.tls.ciphertextBytesProduced == produced)
        try pair.exchange()
        #expect(pair.server.application.entries.last == .read("abc"))
    }

    @Test("A write that the socket refuses fails each promise in it")
    func failedWrites() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.client.wire.failure = ChannelError.ioOnClosedChannel
        let results = (0..<3).map { pair.client.channel.write(ByteBuffer(string: "\($0)")) }
        pair.client.channel.flush()
        for result in results { #expect(throws: ChannelError.self) { try result.wait() } }
    }

    @Test("A handshake that does not end in time fails with its own code and closes")
    func timeout() throws {
        var limits = TLSHandler.Limits()
        limits.handshake = .seconds(3)
        let pair = try ChannelPair.unconnected(limits: limits)
        defer { pair.finish() }
        let write = pair.client.send("never")
        try pair.connect()
        pair.loop.advanceTime(by: .seconds(2))
        #expect(pair.client.application.entries == [.active])
        pair.loop.advanceTime(by: .seconds(1))
        #expect(pair.client.application.entries == [.active, .error(.handshakeTimeout), .inactive])
        #expect(pair.server.application.entries == [.active, .error(.handshakeTimeout), .inactive])
        #expect(throws: TLSError.self) { try write.wait() }
    }

    @Test("After the handshake its deadline is gone")
    func timeoutCancelled() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.loop.advanceTime(by: .hours(1))
        #expect(pair.client.channel.isActive)
        #expect(pair.client.application.errors.isEmpty)
    }

    @Test("The end of the stream in the handshake is told as such, before the channel becomes inactive")
    func endOfStream() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        let write = pair.client.send("never")
        try pair.connect()
        pair.client.endOfStream()
        #expect(pair.client.application.entries == [.active, .error(.endOfStreamInHandshake), .inactive])
        let error = #expect(throws: TLSError.self) { try write.wait() }
        #expect(error?.code == .endOfStreamInHandshake)
    }

    @Test("More than the limit written before the handshake ends fails at once")
    func bufferLimit() throws {
        var limits = TLSHandler.Limits()
        limits.bufferedBytes = 10
        let pair = try ChannelPair.unconnected(limits: limits)
        defer { pair.finish() }
        try pair.connect()
        let first = pair.client.send("0123456789")
        #expect(pair.client.application.entries == [.active])
        let second = pair.client.send("x")
        pair.loop.run()
        #expect(pair.client.application.entries == [.active, .error(.bufferLimitExceeded), .inactive])
        #expect(throws: TLSError.self) { try first.wait() }
        #expect(throws: TLSError.self) { try second.wait() }
    }

    @Test("A peer that speaks no TLS is told apart, on both sides")
    func plainText() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        try pair.connect()
        let reply = ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n")
        try pair.client.channel.writeInbound(reply)
        try pair.server.channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        #expect(pair.client.application.entries == [.active, .error(.notTLS), .inactive])
        #expect(pair.server.application.entries == [.active, .error(.notTLS)])
    }

    @Test(
        "A rejected client certificate is told once, behind what came before it",
        arguments: [TLSVersion.tls12, .tls13]
    )
    func rejectedCertificate(version: TLSVersion) throws {
        let ca = try ThrowAwayCA()
        let pair = try ChannelPair(
            client: TLSContext(client: .init(trustRoots: ca.trustRoots, versions: version...version)),
            server: TLSContext(
                server: .init(identity: ca.server(), maximum: version, clientCertificates: .required(ca.trustRoots))
            )
        )
        defer { pair.finish() }
        pair.client.send("too early")
        try pair.connect()
        try pair.exchange()
        let handshake: [Recorder.Entry] = version == .tls13 ? [.handshake(nil)] : []
        #expect(pair.client.application.entries == [.active] + handshake + [.error(.certificateRejected), .inactive])
        #expect(pair.server.application.entries == [.active, .error(.peerCertificateMissing)])
        // The server keeps reading. Otherwise a reset could destroy its alert.
        #expect(pair.server.wire.entries.suffix(2) == [.write, .closeOutput])
        #expect(pair.server.channel.isActive)
        pair.server.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(pair.server.wire.entries.last == .closeAll)
        #expect(pair.server.application.entries.last == .inactive)
    }

    @Test("A failed server stops lingering at the deadline")
    func lingeringDeadline() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        try pair.server.connect()
        try pair.server.channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        #expect(pair.server.channel.isActive)
        pair.loop.advanceTime(by: .seconds(5))
        #expect(pair.server.application.entries == [.active, .error(.notTLS), .inactive])
    }

    @Test("A handler that joins an active channel begins at once")
    func lateHandler() throws {
        let context = try TLSContext(client: .init(trustRoots: ThrowAwayCA().trustRoots))
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.pipeline.syncOperations.addHandler(TLSHandler(client: context, serverName: "localhost"))
        #expect(try channel.readOutbound(as: ByteBuffer.self) != nil)
        _ = try? channel.finish()
    }

    @Test("The counters cover the handshake and every record")
    func counters() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        #expect(pair.client.tls.ciphertextBytesProduced == pair.server.tls.ciphertextBytesConsumed)
        #expect(pair.server.tls.ciphertextBytesProduced == pair.client.tls.ciphertextBytesConsumed)
        let before = pair.client.tls.ciphertextBytesProduced
        pair.client.send("hello")
        #expect(pair.client.tls.ciphertextBytesProduced > before + 5)
    }

    @Test("Whoever asked for bytes is not left waiting behind records without data")
    func reads() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        try pair.client.channel.syncOptions?.setOption(.autoRead, value: false)
        try pair.connect()
        let duringHandshake = pair.client.wire.reads
        #expect(duringHandshake > 0)
        try pair.exchange()
        let idle = pair.client.wire.reads
        pair.server.send("unasked")
        try pair.exchange()
        #expect(pair.client.wire.reads == idle)
        pair.client.channel.read()
        #expect(pair.client.wire.reads == idle + 1)
        // An incomplete record contains no data, so the handler reads again.
        pair.server.send("record")
        var record = try #require(try pair.server.channel.readOutbound(as: ByteBuffer.self))
        let head = record.readSlice(length: 3) ?? ByteBuffer()
        try pair.client.channel.writeInbound(head)
        #expect(pair.client.wire.reads == idle + 2)
        try pair.client.channel.writeInbound(record)
        #expect(pair.client.wire.reads == idle + 2)
        #expect(pair.client.application.entries.last == .read("record"))
    }
}
