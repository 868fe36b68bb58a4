internal import FerryTesting
internal import NIOCore
internal import Testing

/// Replays over real sockets and TLS.
@Suite struct ReplaySocketTests {
    private static func session(_ named: UInt8 = 2) -> Transcript {
        Transcript(events: [
            Transcript.Event(.zero, .client, .open),
            Transcript.Event(.milliseconds(1), .client, .bytes(frames(1...3))),
            Transcript.Event(.milliseconds(2), .server, .bytes(response(8, named))),
            Transcript.Event(.milliseconds(3), .server, .halfClose),
            Transcript.Event(.milliseconds(4), .client, .end),
        ])
    }

    private static let rejectsTwo = GatewayScript(rules: [.reject([device(2)])])

    @Test(arguments: [ReplayMode.exact, .semantic])
    func `a client is replayed against a gateway`(_ mode: ReplayMode) async throws {
        try await withGateway(Self.rejectsTwo) { fixture in
            try await ReplaySocket.connect(
                Replay(Self.session(), playing: .client, mode: mode),
                to: fixture.gateway.host,
                port: fixture.gateway.port,
                tls: .init(trustRoots: fixture.credentials.trustRoots, identity: fixture.credentials.client),
                within: .seconds(300)
            )
            #expect(fixture.accepted == [1])
        }
    }

    @Test func `a gateway that answers otherwise is a mismatch with its line`() async throws {
        let transcript = try Transcript(parsing: Self.session(3).text)
        try await withGateway(Self.rejectsTwo) { fixture in
            let mismatch = await #expect(throws: ReplayMismatch.self) {
                try await ReplaySocket.connect(
                    Replay(transcript, playing: .client),
                    to: fixture.gateway.host,
                    port: fixture.gateway.port,
                    tls: .init(trustRoots: fixture.credentials.trustRoots, identity: fixture.credentials.client),
                    within: .seconds(300)
                )
            }
            #expect(mismatch?.line == 6)
            #expect(mismatch?.expected == "error response, identifier 3, status 8 (invalid token)")
            #expect(mismatch?.found == "error response, identifier 2, status 8 (invalid token)")
        }
    }

    @Test func `a gateway that stays silent is missing when the time is over`() async throws {
        try await withGateway { fixture in
            let mismatch = await #expect(throws: ReplayMismatch.self) {
                try await ReplaySocket.connect(
                    Replay(Self.session(), playing: .client),
                    to: fixture.gateway.host,
                    port: fixture.gateway.port,
                    tls: .init(trustRoots: fixture.credentials.trustRoots, identity: fixture.credentials.client),
                    within: .milliseconds(500)
                )
            }
            #expect(mismatch?.found == "nothing")
        }
    }

    /// Connects the replay of a server with the replay of a client. Both may have the same transcript.
    private static func meet(_ server: Replay, _ client: Replay, secure: Bool = true) async throws {
        let credentials = try TestCredentials()
        let socket = try await ReplaySocket.listen(server, as: secure ? credentials : nil)
        async let clientEnd: Void = ReplaySocket.connect(
            client,
            to: socket.host,
            port: socket.port,
            tls: secure ? .init(trustRoots: credentials.trustRoots) : nil,
            within: .seconds(300)
        )
        do {
            try await socket.finish(within: .seconds(300))
        } catch {
            try? await clientEnd
            throw error
        }
        try await clientEnd
    }

    @Test(arguments: [true, false])
    func `both sides of a transcript agree`(_ isSecure: Bool) async throws {
        let session = Self.session()
        try await Self.meet(
            Replay(session, playing: .server, mode: .exact),
            Replay(session, playing: .client, mode: .exact),
            secure: isSecure
        )
    }

    @Test(arguments: TranscriptLibrary.legacy)
    func `every session of the library goes over a socket, byte by byte`(_ entry: TranscriptLibrary.Entry) async throws
    {
        let session = try entry.load()
        var client = Replay(session, playing: .client, mode: .exact)
        client.chaos = ReplayChaos()
        client.chaos?.split = .everywhere
        try await Self.meet(Replay(session, playing: .server, mode: .exact), client)
    }

    @Test func `a client that uses other identifiers gets error responses with its own`() async throws {
        let session = Self.session()
        var other = session
        other.events[1].kind = .bytes(
            frame(71, token: token(1)) + frame(72, token: token(2)) + frame(73, token: token(3))
        )
        other.events[2].kind = .bytes(response(8, 72))
        try await Self.meet(Replay(session, playing: .server), Replay(other, playing: .client, mode: .exact))
    }

    @Test func `a client that sends something else is a mismatch that shows no token`() async throws {
        let session = Self.session()
        var other = session
        other.events[1].kind = .bytes(frames(2...4))
        let mismatch = await #expect(throws: ReplayMismatch.self) {
            try await Self.meet(Replay(session, playing: .server), Replay(other, playing: .client))
        }
        #expect(mismatch?.expected.hasPrefix("notification, command 2, identifier 1") == true)
        #expect(mismatch.map { "\($0)".contains("abab") } == false)
        #expect(mismatch.map { String(reflecting: $0).contains("abab") } == true)
    }

    @Test(arguments: [ReplayMode.exact(varying: [.identifiers, .times]), .semantic])
    func `a client that loses a notification is a mismatch that says where what came stands`(
        _ mode: ReplayMode
    ) async throws {
        let events = (1...3).map { Transcript.Event(.zero, .client, .bytes(frames($0...$0))) }
        let session = try Transcript(parsing: Transcript(events: events).text)
        var other = session
        other.events.remove(at: 1)
        let mismatch = await #expect(throws: ReplayMismatch.self) {
            try await Self.meet(Replay(session, playing: .server, mode: mode), Replay(other, playing: .client))
        }
        #expect(mismatch?.line == 5)
        #expect(
            mismatch.map { "\($0)".hasSuffix(" They differ in: token. What came stands in line 6.") } == true,
            "\(mismatch as Any)"
        )
    }

    @Test(arguments: [Transcript.Kind.halfClose, .end])
    func `a client that sends one more before it ends is a mismatch, although the server ends later`(
        _ ending: Transcript.Kind
    ) async throws {
        let session = Transcript(events: [
            Transcript.Event(.zero, .client, .bytes(frames(1...3))),
            Transcript.Event(.milliseconds(1), .client, ending),
            Transcript.Event(.milliseconds(2), .server, .end),
        ])
        var other = session
        other.events[0].kind = .bytes(frames(1...3) + frames(3...3))
        let mismatch = await #expect(throws: ReplayMismatch.self) {
            try await Self.meet(Replay(session, playing: .server), Replay(other, playing: .client))
        }
        #expect(mismatch?.expected == "nothing more")
    }

    @Test func `a client that never connects is missing`() async throws {
        let socket = try await ReplaySocket.listen(Replay(Self.session(), playing: .server), as: nil)
        let mismatch = await #expect(throws: ReplayMismatch.self) { try await socket.finish(within: .milliseconds(10)) }
        #expect(mismatch?.expected == "a connection")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a second connection that never comes is missing when nothing is of the first`()
        async throws
    {
        var session = Self.session()
        session.events.append(Transcript.Event(.milliseconds(5), .client, .open, connection: 2))
        session.events.append(Transcript.Event(.milliseconds(6), .client, .end, connection: 2))
        let socket = try await ReplaySocket.listen(Replay(session, playing: .server), as: nil)
        let client = try await PlainClient.connect(to: socket.host, port: socket.port)
        client.send(frames(1...3))
        // The client never closes its side. After an error response, the replay does not wait for that.
        try await client.receivesResponse()
        let mismatch = await #expect(throws: ReplayMismatch.self) { try await socket.finish(within: .seconds(1)) }
        #expect(mismatch?.connection == 2)
        #expect(mismatch?.expected == "a connection")
        try? await client.close()
    }

    @Test(.timeLimit(.minutes(10)), arguments: [true, false])
    func `the last bytes arrive whole, however many they are`(_ endsHere: Bool) async throws {
        let part = [UInt8](repeating: 0, count: 256 << 10)
        var list = Transcript(service: .feedback, events: [Transcript.Event(.zero, .client, .open)])
        list.events += (0..<40).map { _ in Transcript.Event(.zero, .server, .bytes(part)) }
        if endsHere { list.events.append(Transcript.Event(.zero, .server, .end)) }
        let socket = try await ReplaySocket.listen(Replay(list, playing: .server), as: nil)
        let client = try await PlainClient.connect(to: socket.host, port: socket.port)
        async let end: Void = socket.finish(within: .seconds(300))
        #expect(try await client.received() == 40 * part.count)
        try await end
    }
}
