internal import FerryCore
internal import FerryOpenSSL
internal import FerryTesting
internal import NIOCore
internal import Testing

@Suite(.timeLimit(.minutes(10)))
struct SimulatedGatewayTests {
    @Test
    func `a gateway accepts notifications of all commands in silence, and answers an end with an end`() async throws {
        try await withGateway { fixture in
            let client = try await fixture.connect()
            client.send([0, 0, 1, 0xaa, 0, 2] + Array("{}".utf8))
            client.send([1, 0, 0, 0, 7, 0, 0, 0, 9, 0, 1, 0xbb, 0, 2] + Array("[]".utf8))
            client.send(frame(8, token: [0xcc], payload: #"{"a":1}"#))
            client.finish()
            let ending = try await client.end()
            #expect(ending.bytes.isEmpty)
            #expect(ending.wasOrderly)
            let found = fixture.recorder.memory.notifications
            #expect(found.map(\.token.bytes) == [[0xaa], [0xbb], [0xcc]])
            #expect(found.map { String(decoding: $0.payload, as: UTF8.self) } == ["{}", "[]", #"{"a":1}"#])
            #expect(found.map(\.accepted.command) == [0, 1, 2])
            #expect(found.map(\.accepted.identifier) == [nil, 7, 8])
            #expect(found.map(\.accepted.expiration) == [nil, 9, nil])
            #expect(found.map(\.accepted.place) == [1, 2, 3])
            #expect(fixture.gateway.counts.accepted == 3)
        }
    }

    @Test(arguments: [0, 30])
    func `a gateway refuses a bad token, discards later notifications, and ends in order`(delay milliseconds: Int)
        async throws
    {
        var script = GatewayScript(rules: [.reject([device(3)])])
        script.errorDelay = .milliseconds(milliseconds)
        try await withGateway(script) { fixture in
            let client = try await fixture.connect()
            client.send(frames(1...5))
            let ending = try await client.end()
            #expect(ending.bytes == response(8, 3))
            #expect(ending.wasOrderly)
            #expect(fixture.accepted == [1, 2])
            #expect(fixture.gateway.counts.refused == 1)
            #expect(fixture.gateway.counts.discardedBytes == 2 * frame(4, token: token(4)).count)
        }
    }

    @Test func `six bytes of a gateway reach a client that goes on writing`() async throws {
        var script = GatewayScript(rules: [.reject([device(1)])])
        script.errorDelay = .milliseconds(20)
        try await withGateway(script) { fixture in
            let client = try await fixture.connect()
            let long = Array(repeatElement(frames(1...100), count: 200).joined())
            client.send(long)
            let ending = try await client.end()
            #expect(ending.bytes == response(8, 1))
            #expect(!ending.wasReset)
        }
    }

    @Test func `a gateway refuses as documented where no rule says otherwise`() async throws {
        var script = GatewayScript()
        script.payloadLimit = 10
        try await withGateway(script) { fixture in
            let cases: [([UInt8], [UInt8])] = [
                (frame(1, token: []), response(2, 1)),
                (frame(2, token: [1], payload: ""), response(4, 2)),
                (frame(3, token: Array(repeating: 1, count: 101)), response(5, 3)),
                (frame(4, token: [1], payload: "{\"aps\":{} }"), response(7, 4)),
                ([2, 0, 0, 0, 0], response(2, 0)),
                ([0, 0, 0, 0, 0], []),
                ([3, 0, 0, 0, 0], []),
                ([2, 255, 255, 255, 255], []),
            ]
            for (bytes, expected) in cases {
                let client = try await fixture.connect()
                client.send(bytes)
                let ending = try await client.end()
                #expect(ending.bytes == expected)
                #expect(ending.wasOrderly)
            }
            #expect(fixture.accepted.isEmpty)
        }
    }

    @Test func `a gateway shuts down and names the last accepted notification, once on request`() async throws {
        try await withGateway(GatewayScript(rules: [.shutDown(after: 2, times: 1)])) { fixture in
            let first = try await fixture.connect()
            first.send(frames(1...4))
            #expect(try await first.end().bytes == response(10, 2))
            #expect(fixture.accepted == [1, 2])
            let second = try await fixture.connect()
            second.send(frames(3...6))
            second.finish()
            #expect(try await second.end().bytes.isEmpty)
            #expect(fixture.accepted == [1, 2, 3, 4, 5, 6])
        }
    }

    @Test func `a gateway resets a connection, or only the first on request`() async throws {
        try await withGateway(GatewayScript(rules: [.end(by: .reset, after: 3, times: 1)])) { fixture in
            let first = try await fixture.connect()
            first.send(frames(1...5))
            let ending = try await first.end()
            #expect(ending.bytes.isEmpty)
            #expect(ending.wasReset)
            let second = try await fixture.connect()
            second.send(frames(4...8))
            second.finish()
            #expect(try await second.end().wasOrderly)
            #expect(fixture.accepted == [1, 2, 3, 4, 5, 6, 7, 8])
        }
    }

    @Test func `a gateway closes without a response`() async throws {
        try await withGateway(GatewayScript(rules: [.end(by: .close, after: 1)])) { fixture in
            let client = try await fixture.connect()
            client.send(frames(1...3))
            let ending = try await client.end()
            #expect(ending.bytes.isEmpty)
            #expect(ending.wasOrderly)
            #expect(fixture.accepted == [1])
        }
    }

    @Test func `a gateway stays open after an error response on request, and accepts nothing more`() async throws {
        var script = GatewayScript(rules: [.reject([device(2)])])
        script.keepsOpen = true
        try await withGateway(script) { fixture in
            let client = try await fixture.connect()
            client.send(frames(1...2))
            #expect(try await client.response() == response(8, 2))
            client.send(frames(3...4))
            client.finish()
            #expect(try await client.end().bytes == response(8, 2))
            #expect(fixture.accepted == [1])
        }
    }

    @Test func `a gateway answers status 0 and goes on`() async throws {
        try await withGateway(GatewayScript(rules: [GatewayRule(at: 2, status: 0)])) { fixture in
            let client = try await fixture.connect()
            client.send(frames(1...4))
            client.finish()
            let ending = try await client.end()
            #expect(ending.bytes == response(0, 2))
            #expect(fixture.accepted == [1, 2, 3, 4])
        }
    }

    @Test func `a gateway sends identifier 0, half a response, or other bytes`() async throws {
        let rules = [
            GatewayRule(prefix: [1], identifier: 0),
            GatewayRule(prefix: [2], length: 3),
            GatewayRule(prefix: [3], bytes: [0x15, 3, 1]),
        ]
        try await withGateway(GatewayScript(rules: rules)) { fixture in
            for (first, expected) in [(1, response(8, 0)), (2, [8, 8, 0]), (3, [0x15, 3, 1])] as [(UInt8, [UInt8])] {
                let client = try await fixture.connect()
                client.send(frame(9, token: [first]))
                #expect(try await client.end().bytes == expected)
            }
        }
    }

    @Test func `a gateway that no longer reads can still be stopped`() async throws {
        try await withGateway(GatewayScript(rules: [.end(by: .stopReading, after: 2)])) { fixture in
            let client = try await fixture.connect()
            client.send(frames(1...2))
            await fixture.recorder.count(reaches: 2)
            client.send(frames(3...9))
            await fixture.gateway.stop()
            _ = try await client.end()
            #expect(fixture.accepted == [1, 2])
        }
    }

    @Test func `a gateway reads no faster than its script says`() async throws {
        var script = GatewayScript()
        script.bytesPerSecond = 40_000
        try await withGateway(script) { fixture in
            let client = try await fixture.connect()
            let bytes = frames(1...160)
            let start = ContinuousClock.now
            client.send(bytes)
            await fixture.recorder.count(reaches: 160)
            // The pace delays the next read, so the last chunk, 1/20 of a second, takes no time.
            #expect(start.duration(to: .now) > .seconds(Double(bytes.count) / 40_000 - 0.1))
        }
    }

    @Test func `a gateway refuses the client's certificate, or a missing one`() async throws {
        var script = GatewayScript()
        script.handshake = .refuseClient
        for version in [TLSVersion.tls12, .tls13] {
            try await withGateway(script, configure: { $0.maximumTLSVersion = version }) { fixture in
                let client = try await fixture.connect()
                let ending = try await client.end()
                #expect(ending.tlsError != nil)
                // The client sees the failure before the gateway counts it.
                while fixture.gateway.counts.handshakeFailures == 0 { try await Task.sleep(for: .milliseconds(1)) }
                #expect(fixture.gateway.counts.handshakes == 0)
            }
        }
        try await withGateway { fixture in
            let client = try await RawClient.connect(
                to: fixture.gateway,
                fixture.credentials,
                showingCertificate: false
            )
            #expect(try await client.end().tlsError != nil)
        }
        try await withGateway(configure: { $0.requiresClientCertificate = false }) { fixture in
            let client = try await RawClient.connect(
                to: fixture.gateway,
                fixture.credentials,
                showingCertificate: false
            )
            client.send(frames(1...1))
            client.finish()
            #expect(try await client.end().wasOrderly)
            #expect(fixture.accepted == [1])
        }
    }

    @Test func `a gateway accepts in silence until it stops`() async throws {
        var script = GatewayScript()
        script.handshake = .silent
        try await withGateway(script) { fixture in
            async let client = fixture.connect()
            while fixture.gateway.counts.connections == 0 { await Task.yield() }
            await fixture.gateway.stop()
            let ending = try await client.end()
            #expect(ending.bytes.isEmpty)
            #expect(fixture.gateway.counts.handshakes == 0)
        }
    }

    @Test func `a gateway stops with idle connections open, and can be stopped twice`() async throws {
        try await withGateway { fixture in
            let clients = try await [fixture.connect(), fixture.connect()]
            await fixture.gateway.stop()
            for client in clients { _ = try await client.end() }
            await fixture.gateway.stop()
        }
    }
}
