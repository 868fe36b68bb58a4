internal import FerryTesting
internal import Foundation
internal import Testing

@Suite struct RecordingGatewayTests {
    private static let rejectsTwo = GatewayScript(rules: [.reject([device(2)])])

    private static let session = Transcript(events: [
        Transcript.Event(.zero, .client, .open),
        Transcript.Event(.milliseconds(1), .client, .bytes(frames(1...3))),
        Transcript.Event(.milliseconds(2), .server, .bytes(response(8, 2))),
        Transcript.Event(.milliseconds(3), .server, .halfClose),
        Transcript.Event(.milliseconds(4), .client, .end),
        Transcript.Event(.milliseconds(10), .client, .open, connection: 2),
        Transcript.Event(.milliseconds(11), .client, .bytes(frames(3...3)), connection: 2),
        Transcript.Event(.milliseconds(12), .client, .halfClose, connection: 2),
        Transcript.Event(.milliseconds(13), .server, .end, connection: 2),
    ])

    /// Replays the client of ``session`` to a gateway through a recorder, and returns the recording.
    private static func record(redacting: Bool, _ fixture: GatewayFixture) async throws -> Transcript {
        let path = temporaryPath()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let tls = ReplaySocket.ClientTLS(
            trustRoots: fixture.credentials.trustRoots,
            identity: fixture.credentials.client
        )
        var configuration = RecordingGateway.Configuration(
            to: fixture.gateway.host,
            port: fixture.gateway.port,
            path: path
        )
        configuration.credentials = fixture.credentials
        configuration.gatewayTLS = tls
        configuration.redacts = redacting
        let recorder = try await RecordingGateway.start(configuration)
        do {
            try await ReplaySocket.connect(
                Replay(self.session, playing: .client, mode: .exact),
                to: recorder.host,
                port: recorder.port,
                tls: tls,
                within: .seconds(300)
            )
        } catch {
            await recorder.stop()
            throw error
        }
        await recorder.stop()
        #expect(recorder.failure == nil)
        return try Transcript(contentsOfFile: path)
    }

    private static func bytes(_ transcript: Transcript, _ sender: Transcript.Side, _ connection: Int) -> [UInt8] {
        transcript.events(of: connection).flatMap { event -> [UInt8] in
            if event.sender == sender, case .bytes(let bytes) = event.kind { bytes } else { [] }
        }
    }

    @Test func `the passing bytes are recorded, and replay against the gateway and the client`() async throws {
        try await withGateway(Self.rejectsTwo) { fixture in
            let recorded = try await Self.record(redacting: false, fixture)
            #expect(fixture.accepted == [1, 3])
            for connection in 1...2 {
                for side in Transcript.Side.allCases {
                    #expect(Self.bytes(recorded, side, connection) == Self.bytes(Self.session, side, connection))
                }
            }
            try await ReplaySocket.connect(
                Replay(recorded, playing: .client),
                to: fixture.gateway.host,
                port: fixture.gateway.port,
                tls: .init(trustRoots: fixture.credentials.trustRoots, identity: fixture.credentials.client),
                within: .seconds(300)
            )
            let socket = try await ReplaySocket.listen(
                Replay(recorded, playing: .server, mode: .exact),
                as: fixture.credentials
            )
            try await ReplaySocket.connect(
                Replay(Self.session, playing: .client, mode: .exact),
                to: socket.host,
                port: socket.port,
                tls: .init(trustRoots: fixture.credentials.trustRoots),
                within: .seconds(300)
            )
            try await socket.finish(within: .seconds(300))
        }
    }

    @Test func `a redacted recording has neither tokens nor payloads, and the same lengths`() async throws {
        try await withGateway(Self.rejectsTwo) { fixture in
            let recorded = try await Self.record(redacting: true, fixture)
            let bytes = Self.bytes(recorded, .client, 1)
            #expect(bytes.count == Self.bytes(Self.session, .client, 1).count)
            #expect(!recorded.text.contains("abababab"))
            #expect(Self.bytes(recorded, .server, 1) == response(8, 2))
        }
    }

    @Test func `a gateway that cannot be reached ends the client's connection`() async throws {
        let path = temporaryPath()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let closed = try await SimulatedGateway.start(.init(credentials: try TestCredentials()))
        await closed.stop()
        let recorder = try await RecordingGateway.start(
            RecordingGateway.Configuration(to: closed.host, port: closed.port, path: path)
        )
        await #expect(throws: ReplayMismatch.self) {
            try await ReplaySocket.connect(
                Replay(Self.session, playing: .client),
                to: recorder.host,
                port: recorder.port,
                tls: nil,
                within: .seconds(300)
            )
        }
        await recorder.stop()
        #expect(try Transcript(contentsOfFile: path).events.map(\.kind).prefix(2) == [.open, .end])
    }
}
