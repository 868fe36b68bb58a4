internal import FerryCore
internal import FerryOpenSSL
internal import FerryTesting
internal import Foundation
internal import NIOCore
internal import Testing

@Suite(.timeLimit(.minutes(10)))
struct SimulatedAPNsTests {
    struct Fixture {
        var apns: SimulatedAPNs
        var credentials: TestCredentials
        var memory: APNsMemoryRecorder

        func connect(as identity: TLSIdentity? = nil) async throws -> SocketClient {
            try await SocketClient.connect(to: self.apns, trusting: self.credentials.trustRoots, as: identity)
        }

        var authorization: String {
            get throws {
                try self.credentials.providerTokenKey.authorization(at: UInt32(Date().timeIntervalSince1970))
            }
        }
    }

    func with(
        _ script: HTTP2Script = .withoutTokens(),
        configure: (inout SimulatedAPNs.Configuration) -> Void = { _ in },
        _ body: (Fixture) async throws -> Void
    ) async throws {
        let credentials = try TestCredentials()
        let memory = APNsMemoryRecorder()
        var configuration = SimulatedAPNs.Configuration(credentials: credentials)
        configuration.script = script
        configuration.recorder = memory
        configure(&configuration)
        let apns = try await SimulatedAPNs.start(configuration)
        do {
            try await body(Fixture(apns: apns, credentials: credentials, memory: memory))
        } catch {
            await apns.stop()
            throw error
        }
        await apns.stop()
    }

    @Test func `a request with a provider token or a certificate is accepted, in both versions of TLS`() async throws {
        for version in [TLSVersion.tls12, .tls13] {
            try await self.with(HTTP2Script(), configure: { $0.maximumTLSVersion = version }) { fixture in
                let authorization = try fixture.authorization
                let requests = (0..<20).map {
                    SocketClient.Request(token: device($0).hex, authorization: authorization)
                }
                let first = try await fixture.connect()
                let told = try await first.ask(requests)
                #expect(told.map(\.status) == Array(repeating: 200, count: 20))
                #expect(told.map { $0.fields["apns-id"] } == requests.map(\.id))
                let second = try await fixture.connect(as: fixture.credentials.client)
                #expect(try await second.ask([.init()]).map(\.status) == [200])
                let third = try await fixture.connect()
                #expect(try await third.ask([.init()]).map(\.reason) == ["MissingProviderToken"])
                #expect(fixture.memory.requests.map(\.accepted.apnsID).prefix(20) == requests.map(\.id)[...])
                #expect(fixture.memory.duplicates.isEmpty)
                let counts = fixture.apns.counts
                #expect(counts.connections == 3)
                #expect(counts.handshakes == 3)
                #expect(counts.accepted == 21)
                #expect(counts.rejected == 1)
            }
        }
    }

    @Test
    func `a certificate of another authority is refused, and so is a missing one if it is required`() async throws {
        let stranger = try TestCredentials().client
        try await self.with { fixture in
            let client = try await fixture.connect(as: stranger)
            #expect(try await client.end().tlsError?.code == .certificateRejected)
        }
        try await self.with(configure: { $0.requiresClientCertificate = true }) { fixture in
            let client = try await fixture.connect()
            #expect(try await client.end().tlsError?.code == .certificateRejected)
            let other = try await fixture.connect(as: fixture.credentials.client)
            #expect(try await other.ask([.init()]).map(\.status) == [200])
        }
    }

    @Test func `the server speaks only HTTP/2`() async throws {
        try await self.with { fixture in
            let client = try await SocketClient.connect(
                to: fixture.apns,
                trusting: fixture.credentials.trustRoots,
                protocols: ["http/1.1"]
            )
            #expect(try await client.end().tlsError != nil)
            // The client sees the failure before the simulated APNs counts it.
            while fixture.apns.counts.handshakeFailures == 0 { try await Task.sleep(for: .milliseconds(1)) }
            #expect(fixture.apns.counts.handshakes == 0)
        }
    }

    @Test(
        arguments: [
            HTTP2Rule.LastStream.none, .current, .all,
        ]
    )
    func `GOAWAYs lose nothing and double nothing, whatever they keep`(last: HTTP2Rule.LastStream) async throws {
        try await self.with(.withoutTokens(.goAway(every: 100, lastStream: last))) { fixture in
            var open = (0..<950).map { SocketClient.Request(token: device($0).hex) }
            while !open.isEmpty {
                let client = try await fixture.connect()
                let told = try await client.ask(open)
                #expect(told.allSatisfy { $0.status ?? 200 == 200 })
                open = zip(open, told).filter { $0.1.status == nil }.map(\.0)
                if !open.isEmpty { #expect(try await client.end().goAways.count == 1) }
            }
            #expect(fixture.memory.requests.count == 950)
            #expect(fixture.memory.counts.count == 950)
            #expect(fixture.memory.duplicates.isEmpty)
        }
    }

    @Test func `the server closes and resets connections`() async throws {
        try await self.with(.withoutTokens(.end(by: .close, after: 3, times: 1))) { fixture in
            let client = try await fixture.connect()
            let told = try await client.ask((0..<5).map { .init(token: device($0).hex) })
            #expect(told.map(\.status) == [200, 200, 200, nil, nil])
            let ending = try await client.end()
            #expect(ending.wasOrderly)
            #expect(ending.goAways.isEmpty)
        }
        try await self.with(.withoutTokens(.end(by: .reset, after: 3, times: 1))) { fixture in
            let client = try await fixture.connect()
            let told = try await client.ask((0..<5).map { .init(token: device($0).hex) })
            #expect(told.map(\.status) == Array(repeating: nil, count: 5))
            #expect(try await client.end().wasReset)
            #expect(fixture.memory.requests.count == 3)
        }
    }

    @Test func `the server answers late, by a timer`() async throws {
        var script = HTTP2Script.withoutTokens(HTTP2Rule(at: 2, status: 500, delay: .milliseconds(20)))
        script.answerDelay = .milliseconds(10)
        try await self.with(script) { fixture in
            let client = try await fixture.connect()
            let told = try await client.ask((0..<3).map { .init(token: device($0).hex) })
            #expect(told.map(\.status) == [200, 500, 200])
        }
    }

    @Test func `a window that opens little by little loses nothing`() async throws {
        let rule = HTTP2Rule(after: 0, action: .slowWindow, hold: .milliseconds(200))
        try await self.with(.withoutTokens(rule)) { fixture in
            let client = try await fixture.connect()
            let body = String(repeating: "x", count: 120)
            let told = try await client.ask((0..<900).map { .init(token: device($0).hex, body: body) })
            #expect(told.allSatisfy { $0.status == 200 })
            #expect(fixture.memory.requests.count == 900)
        }
    }

    @Test func `the server keeps silent, and can be stopped with connections open`() async throws {
        try await self.with(.withoutTokens(.end(by: .stopReading, after: 1))) { fixture in
            let client = try await fixture.connect()
            async let told = client.ask([.init()])
            while fixture.apns.counts.accepted == 0 { await Task.yield() }
            await fixture.apns.stop()
            #expect(try await told.map(\.status) == [nil])
        }
    }

    @Test func `one file has the notifications that the server and a gateway accepted`() async throws {
        let path = temporaryPath()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorder = try GatewayFileRecorder(path: path)
        let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
        try await self.with(configure: { $0.recorder = recorder }) { fixture in
            let client = try await fixture.connect()
            _ = try await client.ask([.init(id: id, body: #"{ "a" : "é" }"#), .init(token: "01", id: id, body: "{\n}")])
            try await withGateway(configure: { $0.recorder = recorder }) { fixture in
                let client = try await fixture.connect()
                client.send(frame(7, token: [1]))
                client.finish()
                _ = try await client.end()
            }
        }
        let common = #""topic":"com.example.ferry","pushType":null,"expiration":null,"priority":null,"collapseId":null"#
        #expect(
            try String(contentsOfFile: path, encoding: .utf8) == """
                {"connection":1,"place":1,"apnsId":"\(id)","token":"00ff","payload":{ "a" : "é" },\(common)}
                {"connection":1,"place":2,"apnsId":"\(id)","token":"01","payloadHex":"7b0a7d",\(common)}
                {"connection":1,"place":1,"command":2,"identifier":7,"token":"01","payload":{},"expiration":null,\
                "priority":null}

                """
        )
    }
}
