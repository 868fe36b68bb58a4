internal import FerryTesting
internal import NIOCore
internal import Testing

/// Recorded sessions of other clients, replayed to the simulated gateway: `Tests/Transcripts/legacy`.
@Suite struct LegacyTranscriptTests {
    @Test(arguments: TranscriptLibrary.legacy, [ReplayMode.exact, .semantic])
    func `the gateway answers as the transcript says, and accepts as many as its header says`(
        _ entry: TranscriptLibrary.Entry,
        _ mode: ReplayMode
    ) throws {
        let session = try LegacySession(entry.load())
        #expect(try session.replay(mode) == session.accepted)
    }

    @Test(arguments: TranscriptLibrary.legacy)
    func `wherever the client's bytes are split, nothing changes`(_ entry: TranscriptLibrary.Entry) async throws {
        let transcript = try entry.load()
        let session = try LegacySession(transcript)
        for split in [.everywhere] + (1..<transcript.byteCount(of: .client)).map(ReplayChaos.Split.at) {
            await Task.yield()
            var chaos = ReplayChaos()
            chaos.split = split
            let accepted = try session.replay(.exact, chaos)
            if accepted != session.accepted { Issue.record("\(split): \(accepted) accepted") }
        }
    }

    @Test(arguments: TranscriptLibrary.legacy)
    func `whatever the delays, nothing changes`(_ entry: TranscriptLibrary.Entry) async throws {
        let session = try LegacySession(entry.load())
        for seed in TranscriptLibrary.delaySeeds {
            await Task.yield()
            var chaos = ReplayChaos(seed: seed)
            chaos.delay = .milliseconds(40)
            let accepted = try session.replay(.exact, chaos)
            if accepted != session.accepted { Issue.record("seed \(seed): \(accepted) accepted") }
        }
    }

    @Test(arguments: TranscriptLibrary.legacy)
    func `wherever a connection is cut, the gateway accepts no more than before`(
        _ entry: TranscriptLibrary.Entry
    ) async throws {
        let transcript = try entry.load()
        let session = try LegacySession(transcript)
        for place in 0..<transcript.byteCount(of: .client) {
            await Task.yield()
            var chaos = ReplayChaos()
            chaos.cut = place
            let accepted = try session.replay(.exact, chaos)
            if accepted > session.accepted { Issue.record("byte \(place): \(accepted) accepted") }
        }
    }
}

/// A transcript of another client, prepared for many replays.
private struct LegacySession {
    /// The number of notifications that the gateway must accept.
    let accepted: Int
    private let script: GatewayScript
    private let connections: [Int]
    private let parts: [Int: ReplayPart]

    init(_ transcript: Transcript) throws {
        self.accepted = try #require(transcript[header: "accepted"].flatMap { Int($0) })
        self.script = try GatewayScript(json: Array((transcript[header: "script"] ?? "{}").utf8))
        self.connections = transcript.connections
        self.parts = transcript.parts(playing: .client)
    }

    /// - Returns: the number of notifications that the gateway accepted.
    func replay(_ mode: ReplayMode, _ chaos: ReplayChaos? = nil) throws -> Int {
        let rules = GatewayRules(self.script)
        return try self.connections.reduce(0) { sum, connection in
            guard let part = self.parts[connection] else { return sum }
            var rehearsal = GatewayRehearsal(
                client: ReplayMachine(part, mode: mode, pace: .recorded, chaos: chaos),
                gateway: SimulatedGatewayMachine(rules: rules, connection: connection)
            )
            return sum + (try rehearsal.run())
        }
    }
}

/// A replayed client and the simulated gateway, with simulated time.
private struct GatewayRehearsal {
    var client: ReplayMachine
    var gateway: SimulatedGatewayMachine
    private var now: Duration = .zero
    private var wakes: [Duration] = []
    private var gatewayHasEnded = false

    init(client: ReplayMachine, gateway: SimulatedGatewayMachine) {
        self.client = client
        self.gateway = gateway
    }

    mutating func run() throws -> Int {
        try self.perform(self.gateway.opened(at: self.now))
        try self.perform(self.client.opened(at: self.now))
        while let next = self.wakes.min(), !self.client.isFinished {
            self.now = max(self.now, next)
            self.wakes.removeAll { $0 <= self.now }
            try self.perform(self.gateway.timePassed(at: self.now))
            try self.perform(self.client.timePassed(at: self.now))
        }
        if let missing = self.client.missing { throw missing }
        return self.gateway.counts.accepted
    }

    private mutating func perform(_ actions: [ReplayAction]) throws {
        for action in actions {
            switch action {
            case .send(let bytes):
                try self.perform(self.gateway.received(ByteBuffer(bytes: bytes), at: self.now))
            case .halfClose, .end, .reset:
                try self.perform(self.gateway.inputClosed())
            case .wake(let time):
                self.wakes.append(time)
            }
        }
    }

    private mutating func perform(_ actions: [GatewayAction]) throws {
        for action in actions {
            switch action {
            case .write(let bytes):
                try self.perform(self.client.received(bytes, at: self.now))
            case .closeOutput, .close, .reset:
                guard !self.gatewayHasEnded else { continue }
                self.gatewayHasEnded = true
                try self.perform(self.client.receivedEnd(at: self.now))
            case .wake(let time):
                self.wakes.append(time)
            case .stopReading, .gone:
                break
            }
        }
    }
}
