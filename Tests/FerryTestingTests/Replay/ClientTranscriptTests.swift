internal import FerryBinary
internal import FerryTesting
internal import Foundation
internal import Testing

/// Every rule of the client, as a session that was recorded: `Tests/Transcripts/client`.
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
        let transcript = try entry.load()
        try Self.check(transcript, Self.replay(transcript, mode))
    }

    @Test(arguments: TranscriptLibrary.client)
    func `wherever the gateway's bytes are split, nothing changes`(_ entry: TranscriptLibrary.Entry) throws {
        let transcript = try entry.load()
        for split in [.everywhere] + (1..<max(transcript.byteCount(of: .server), 1)).map(ReplayChaos.Split.at) {
            var chaos = ReplayChaos()
            chaos.split = split
            try Self.check(transcript, Self.replay(transcript, .exact, chaos))
        }
    }

    @Test(arguments: TranscriptLibrary.client)
    func `whatever the delays, nothing changes`(_ entry: TranscriptLibrary.Entry) throws {
        let transcript = try entry.load()
        for seed in 0..<1000 as Range<UInt64> {
            var chaos = ReplayChaos(seed: seed)
            chaos.split = .random
            chaos.delay = .milliseconds(40)
            try Self.check(transcript, Self.replay(transcript, .semantic, chaos), "seed \(seed)")
        }
    }

    @Test(arguments: TranscriptLibrary.client)
    func `wherever a connection is cut, every notification has one outcome`(
        _ entry: TranscriptLibrary.Entry
    ) throws {
        let transcript = try entry.load()
        let names = try ClientPlan(transcript).names
        for connection in transcript.connections {
            for place in 0..<transcript.byteCount(of: .server, on: connection) {
                let result = try Self.replay(transcript, .semantic, cut: (connection, place))
                #expect(names.allSatisfy { result.outcomes[$0]?.count == 1 }, "connection \(connection), byte \(place)")
            }
        }
    }

    private struct Result {
        var outcomes: [Int: [String]]
        var contradicted: Int
    }

    /// - Parameter cut: a connection, and after how many of the gateway's bytes it ends. Those after it are silent.
    private static func replay(
        _ transcript: Transcript,
        _ mode: ReplayMode,
        _ chaos: ReplayChaos? = nil,
        cut: (connection: Int, place: Int)? = nil
    ) throws -> Result {
        let parts = transcript.parts(playing: .server)
        var rehearsal = ClientRehearsal<ReplayPeer>(try ClientPlan(transcript)) { connection in
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

    private static func check(_ transcript: Transcript, _ result: Result, _ comment: Comment? = nil) throws {
        let plan = try ClientPlan(transcript)
        #expect(plan.names.map { result.outcomes[$0] ?? [] } == plan.outcomes.map { [$0] }, comment)
        #expect(result.contradicted == plan.contradicted, comment)
    }
}
