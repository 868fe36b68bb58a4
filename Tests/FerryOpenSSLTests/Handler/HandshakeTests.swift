import FerryOpenSSL
import NIOCore
import NIOEmbedded
import Testing

struct HandshakeTests {
    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `both sides report the end of the handshake once, and then carry data`(version: TLSVersion) throws {
        let pair = try ChannelPair.connected(version: version)
        defer { pair.finish() }
        pair.client.send("up")
        pair.server.send("down")
        try pair.exchange()
        #expect(pair.client.application.entries == [.active, .handshake(nil), .read("down")])
        #expect(pair.server.application.entries == [.active, .handshake(nil), .read("up")])
        #expect(pair.client.tls.version == version)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a server knows the round trip to its client from the handshake`(version: TLSVersion) throws {
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

    @Test func `only flushed writes go out when the handshake ends`() throws {
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

    @Test func `many writes become one record and complete together, including an empty one`() throws {
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

    @Test func `a write that the socket refuses fails each promise in it`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.client.wire.failure = ChannelError.ioOnClosedChannel
        let results = (0..<3).map { pair.client.channel.write(ByteBuffer(string: "\($0)")) }
        pair.client.channel.flush()
        for result in results { #expect(throws: ChannelError.self) { try result.wait() } }
    }

    @Test func `a handshake that does not end in time fails with its own code and closes`() throws {
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

    @Test func `the deadline of the handshake is gone after it`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        pair.loop.advanceTime(by: .hours(1))
        #expect(pair.client.channel.isActive)
        #expect(pair.client.application.errors.isEmpty)
    }

    @Test func `an end of stream in the handshake is reported as such, before the channel becomes inactive`() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        let write = pair.client.send("never")
        try pair.connect()
        pair.client.endOfStream()
        #expect(pair.client.application.entries == [.active, .error(.endOfStreamInHandshake), .inactive])
        let error = #expect(throws: TLSError.self) { try write.wait() }
        #expect(error?.code == .endOfStreamInHandshake)
    }

    @Test func `a write over the limit before the end of the handshake fails at once`() throws {
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

    @Test func `a peer without TLS is recognized on both sides`() throws {
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
        arguments: [TLSVersion.tls12, .tls13]
    )
    func `a rejected client certificate is reported once, after the bytes before it`(version: TLSVersion) throws {
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

    @Test func `a failed server stops lingering at the deadline`() throws {
        let pair = try ChannelPair.unconnected()
        defer { pair.finish() }
        try pair.server.connect()
        try pair.server.channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        #expect(pair.server.channel.isActive)
        pair.loop.advanceTime(by: .seconds(5))
        #expect(pair.server.application.entries == [.active, .error(.notTLS), .inactive])
    }

    @Test func `a handler that joins an active channel begins at once`() throws {
        let context = try TLSContext(client: .init(trustRoots: ThrowAwayCA().trustRoots))
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.pipeline.syncOperations.addHandler(TLSHandler(client: context, serverName: "localhost"))
        #expect(try channel.readOutbound(as: ByteBuffer.self) != nil)
        _ = try? channel.finish()
    }

    @Test func `the counters cover the handshake and every record`() throws {
        let pair = try ChannelPair.connected()
        defer { pair.finish() }
        #expect(pair.client.tls.ciphertextBytesProduced == pair.server.tls.ciphertextBytesConsumed)
        #expect(pair.server.tls.ciphertextBytesProduced == pair.client.tls.ciphertextBytesConsumed)
        let before = pair.client.tls.ciphertextBytesProduced
        pair.client.send("hello")
        #expect(pair.client.tls.ciphertextBytesProduced > before + 5)
    }

    @Test func `a handler that asked for bytes is not left waiting after records without data`() throws {
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
