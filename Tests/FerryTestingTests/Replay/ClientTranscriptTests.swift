internal import FerryBinary
internal import FerryTesting
internal import Foundation
internal import Testing

/// Recorded sessions for every rule of the client: `Tests/Transcripts/client`.
@Suite struct ClientTranscriptTests {
    /// With this variable set, transcripts without events are recorded against the simulated gateway of their script.
    static let records = ProcessInfo.processInfo.environment["FERRY_RECORD"] != nil

    @Test(.enabled(if: records), arguments: TranscriptLibrary.client)
    func `a transcript without events is recorded`(_ entry: TranscriptLibrary.Entry) throws {
        var transcript = try entry.load()
        guard transcript.events.isEmpty else { return }
        let script = try GatewayScript(json: Array((transcript[header: "script"] ?? "{}").utf8))
        let rules = GatewayRules(script)
        let recording = Recording()
        var rehearsal = ClientRehearsal<GatewayPeer>(try ClientPlan(transcript), observe: recording.add) { connection in
            GatewayPeer(rules, connection: connection, recording: recording)
        }
        try rehearsal.run()
        transcript.events = recording.events
        try transcript.annotated().text.write(toFile: entry.path, atomically: true, encoding: .utf8)
    }

    @Test(arguments: TranscriptLibrary.client, [ReplayMode.exact, .semantic])
    func `the client does what the transcript says, and its outcomes are those of the header`(
        _ entry: TranscriptLibrary.Entry,
        _ mode: ReplayMode
    ) throws {
        let session = try ClientSession(entry.load())
        #expect(try session.replay(mode) == session.expected)
    }

    @Test(arguments: TranscriptLibrary.client)
    func `wherever the gateway's bytes are split, nothing changes`(_ entry: TranscriptLibrary.Entry) async throws {
        let transcript = try entry.load()
        let session = try ClientSession(transcript)
        let places = 1..<max(transcript.byteCount(of: .server), 1)
        for split in [.everywhere] + places.map(ReplayChaos.Split.at) {
            await Task.yield()
            var chaos = ReplayChaos()
            chaos.split = split
            let result = try session.replay(.exact, chaos)
            if result != session.expected { Issue.record("\(split): \(result)") }
        }
    }

    @Test(arguments: TranscriptLibrary.client)
    func `whatever the delays, nothing changes`(_ entry: TranscriptLibrary.Entry) async throws {
        let session = try ClientSession(entry.load())
        for seed in TranscriptLibrary.delaySeeds {
            await Task.yield()
            var chaos = ReplayChaos(seed: seed)
            chaos.delay = .milliseconds(40)
            let result = try session.replay(.exact, chaos)
            if result != session.expected { Issue.record("seed \(seed): \(result)") }
        }
    }

    @Test(arguments: TranscriptLibrary.client)
    func `wherever a connection is cut, every notification has one outcome`(
        _ entry: TranscriptLibrary.Entry
    ) async throws {
        let transcript = try entry.load()
        let session = try ClientSession(transcript)
        for connection in transcript.connections {
            for place in 0..<transcript.byteCount(of: .server, on: connection) {
                await Task.yield()
                let result = try session.replay(.semantic, cut: (connection, place))
                let hasOne = session.plan.names.allSatisfy { result.outcomes[$0]?.count == 1 }
                #expect(hasOne, "connection \(connection), byte \(place)")
            }
        }
    }
}

/// A transcript of the client, prepared for many replays.
private struct ClientSession {
    struct Result: Equatable {
        var outcomes: [Int: [String]]
        var contradicted: Int
    }

    let plan: ClientPlan
    /// The expected result, from the headers.
    let expected: Result
    private let parts: [Int: ReplayPart]

    init(_ transcript: Transcript) throws {
        let plan = try ClientPlan(transcript)
        let outcomes = zip(plan.names, plan.outcomes).map { ($0, [$1]) }
        self.plan = plan
        self.expected = Result(
            outcomes: Dictionary(uniqueKeysWithValues: outcomes),
            contradicted: plan.contradicted
        )
        self.parts = transcript.parts(playing: .server)
    }

    /// - Parameter cut: a connection, and the number of the gateway's bytes after which it ends. On later connections,
    ///   the gateway is silent.
    func replay(
        _ mode: ReplayMode,
        _ chaos: ReplayChaos? = nil,
        cut: (connection: Int, place: Int)? = nil
    ) throws -> Result {
        let parts = self.parts
        var rehearsal = ClientRehearsal<ReplayPeer>(self.plan) { connection in
            if let cut, connection > cut.connection { return ReplayPeer(machine: nil) }
            guard let part = parts[connection] else { throw UnexpectedConnection(number: connection) }
            var chaos = chaos
            if let cut, connection == cut.connection {
                chaos = ReplayChaos()
                chaos?.cut = cut.place
            }
            return ReplayPeer(machine: ReplayMachine(part, mode: mode, pace: .recorded, chaos: chaos))
        }
        try rehearsal.run()
        return Result(
            outcomes: rehearsal.outcomes.mapValues { $0.map(\.word) },
            contradicted: rehearsal.contradicted
        )
    }

    struct UnexpectedConnection: Error { var number: Int }
}
