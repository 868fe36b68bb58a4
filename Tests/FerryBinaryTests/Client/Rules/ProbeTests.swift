import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct ProbeTests {
    /// Returns a connection with a probe: everything was sent, and the client shuts down by probe.
    private func probed(
        _ names: ClosedRange<UInt32>,
        _ proof: Proof = .probe,
        token: ((UInt32) -> [UInt8])? = nil
    ) -> Scenario {
        let scenario = Scenario()
        scenario.submit(Array(names), token: token)
        scenario.connect()
        scenario.send()
        scenario.shutDown(proof)
        scenario.pass(.milliseconds(1200), sending: true)
        #expect(scenario.probe != nil)
        return scenario
    }

    @Test(arguments: [2, 5, 8, 10, 128, 255] as [UInt8])
    func `a response with the probe's identifier proves everything before it`(status: UInt8) throws {
        let scenario = self.probed(1...5)
        scenario.respond(status, identifier: try #require(scenario.probe).identifier)
        #expect(scenario.all(1...5, are: .confirmed))
        #expect(scenario.errors.isEmpty)
        scenario.end()
        #expect(scenario.isFinished)
    }

    @Test(arguments: [2, 4] as [UInt8])
    func `identifier 0 with status 2 or 4 is the probe's answer`(status: UInt8) {
        let scenario = self.probed(1...5)
        scenario.respond(status, identifier: 0)
        #expect(scenario.all(1...5, are: .confirmed))
    }

    @Test(arguments: [3, 5, 6, 7, 8, 128] as [UInt8])
    func `identifier 0 with another status is not, blames nobody, and no probe follows`(status: UInt8) {
        let scenario = self.probed(1...1)
        scenario.respond(status, identifier: 0)
        #expect(scenario.outcomes.isEmpty)
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.pass(.seconds(12), sending: true)
        #expect(scenario[1] == .presumed)
        #expect(scenario.frames.map(\.name) == [1, nil, 1])
    }

    @Test func `a probe is not written before the peer was silent for the settle time`() {
        for proof in [Proof.automatic, .probe] {
            let scenario = Scenario()
            scenario.open(1...5)
            scenario.shutDown(proof)
            scenario.pass(.milliseconds(990), sending: true)
            #expect(scenario.probe == nil)
            #expect(scenario.outcomes.isEmpty)
            scenario.pass(.milliseconds(200), sending: true)
            #expect(scenario.probe != nil)
        }
    }

    @Test func `an error of a notification counts as ever, and what follows is probed again`() throws {
        let scenario = self.probed(1...5)
        scenario.respond(8, to: 3)
        #expect(scenario.outcomes(of: 1...5) == [.confirmed, .confirmed, .rejected(8), nil, nil])
        scenario.connect()
        #expect(scenario.send() == [4, 5])
        scenario.pass(.seconds(3), sending: true)
        let probe = try #require(scenario.probe)
        #expect(probe.identifier == 3)
        scenario.respond(2, identifier: probe.identifier)
        #expect(scenario.all(4...5, are: .confirmed))
        scenario.end()
        #expect(scenario.isFinished)
    }

    @Test func `an error behind the probe's answer contradicts by tag, and its followers go out again`() throws {
        let scenario = self.probed(1...5, .automatic)
        let first = scenario.current
        scenario.respond(8, identifier: try #require(scenario.probe).identifier)
        #expect(scenario.all(1...5, are: .confirmed))
        scenario.respond(8, identifier: 3, on: first)
        #expect(scenario.contradictions.map(\.tags) == [[3]])
        scenario.connect()
        #expect(scenario.send() == [4, 5])
        scenario.pass(.seconds(20), sending: true)
        scenario.end()
        #expect(scenario.isFinished)
    }

    @Test func `a peer that repeats the probe's answer does not keep the connection`() throws {
        let scenario = self.probed(1...5, .automatic)
        let answer = Scenario.response(8, try #require(scenario.probe).identifier)
        scenario.receive(answer)
        for _ in 0..<8 {
            scenario.pass(.seconds(1))
            scenario.receive(answer + answer)
        }
        #expect(scenario.isFinished)
        #expect(scenario.contradicted == 0)
    }

    // MARK: Automatic

    @Test func `without an answer for 10 s silence counts, and the report says so`() {
        let scenario = self.probed(1...5, .automatic)
        scenario.pass(.milliseconds(9700))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(300))
        #expect(scenario.all(1...5, are: .presumed))
        #expect(scenario.client.outcomes.unproved == Unproved(count: 5, cause: .noAnswer))
        // The peer may still send an error response, for 5 s.
        #expect(!scenario.isFinished)
        scenario.pass(.seconds(5))
        #expect(scenario.isFinished)
    }

    @Test func `a close instead of an answer leaves what silence had earned`() {
        let scenario = self.probed(1...5, .automatic)
        scenario.end()
        #expect(scenario.all(1...5, are: .presumed))
        #expect(scenario.client.outcomes.unproved == Unproved(count: 5, cause: .closed))
        #expect(scenario.queued == 0)
        #expect(scenario.isFinished)
    }

    @Test(arguments: [nil, [8, 10, 0, 0, 0, 0]] as [[UInt8]?])
    func `an end before the probe leaves what silence had earned, and the rest goes out again`(word: [UInt8]?) {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.shutDown(.automatic)
        scenario.pass(.milliseconds(600), sending: true)
        scenario.submit(4...5)
        scenario.send()
        scenario.pass(.milliseconds(700), sending: true)
        #expect(scenario.outcomes.isEmpty && scenario.probe == nil)
        if let word { scenario.receive(word) } else { scenario.end() }
        #expect(scenario.all(1...3, are: .presumed))
        #expect(scenario.client.outcomes.unproved == Unproved(count: 3, cause: .closed))
        scenario.connect()
        #expect(scenario.send() == [4, 5])
    }

    @Test(arguments: [true, false])
    func `silence of a peer that does not speak the protocol is no acceptance`(isProbed: Bool) {
        let scenario = Scenario()
        scenario.open(1...5)
        scenario.shutDown(.automatic)
        scenario.pass(.milliseconds(1130), sending: isProbed)
        #expect((scenario.probe != nil) == isProbed)
        scenario.receive(Array("220 mail\r\n".utf8))
        #expect(scenario.counts.accepted == 0)
        // Without a probe on the connection, its notifications go out again.
        #expect(scenario.counts.uncertain == (isProbed ? 5 : 0))
        scenario.abandon()
        #expect(scenario.counts.uncertain == 5)
    }

    @Test func `where acknowledgements do not show, a close after the probe leaves nothing presumed`() {
        let scenario = Scenario()
        scenario.showsAcknowledgements = false
        scenario.open(1...5)
        scenario.shutDown(.automatic)
        scenario.pass(.seconds(2), sending: true)
        #expect(scenario.probe != nil)
        scenario.end()
        #expect(scenario.counts.accepted == 0)
    }

    @Test(arguments: [Proof.automatic, .probe])
    func `a shutdown during a search ends where acceptance is proved`(proof: Proof) throws {
        let scenario = Scenario { $0.finality = .proof }
        scenario.open(1...3)
        scenario.respond(0, to: 2)
        scenario.respond(8, identifier: 0)
        scenario.shutDown(proof)
        scenario.connect()
        #expect(scenario.send() == [3])
        scenario.pass(.seconds(3), sending: true)
        let probe = try #require(scenario.probe)
        scenario.respond(8, identifier: probe.identifier)
        #expect(scenario.counts.accepted == 3)
        scenario.end()
        #expect(scenario.isFinished)
    }

    @Test func `what is settled on one connection waits for the others without a deadline in the past`() {
        let scenario = Scenario {
            $0.maxConnections = 2
            $0.command = .simple
        }
        scenario.peerAcknowledges = false
        scenario.submit(1...20)
        let first = scenario.connect()
        scenario.send(on: first)
        scenario.acknowledge(scenario.sentBytes)
        scenario.send(on: scenario.connect())
        scenario.shutDown(.automatic)
        scenario.pass(.seconds(29), sending: true)
        #expect(!scenario.isStuck)
    }

    @Test func `an error response that comes later than the probe finds its followers unsettled`() {
        let scenario = self.probed(1...5, .automatic)
        scenario.pass(.seconds(2))
        scenario.respond(8, to: 2)
        #expect(scenario.outcomes(of: 1...5) == [.confirmed, .rejected(8), nil, nil, nil])
        scenario.connect()
        #expect(scenario.send() == [3, 4, 5])
        #expect(scenario.contradicted == 0)
    }

    @Test func `at the limit of a shutdown silence counts for what is being proved`() {
        let scenario = self.probed(1...5, .automatic)
        scenario.abandon()
        #expect(scenario.all(1...5, are: .presumed))
        #expect(scenario.client.outcomes.unproved == Unproved(count: 5, cause: .noAnswer))
    }

    @Test func `command 0 has no probes, so silence counts and the report says why`() {
        let scenario = Scenario { $0.command = .simple }
        scenario.open(1...3)
        scenario.shutDown(.automatic)
        scenario.pass(.seconds(6), sending: true)
        #expect(scenario.all(1...3, are: .presumed))
        #expect(scenario.client.outcomes.unproved == Unproved(count: 3, cause: .noIdentifiers))
    }

    @Test func `where acknowledgements do not show, a probe follows a settle time without a word`() throws {
        let scenario = Scenario()
        scenario.showsAcknowledgements = false
        scenario.open(1...3)
        scenario.shutDown(.automatic)
        scenario.pass(.seconds(3), sending: true)
        scenario.respond(8, identifier: try #require(scenario.probe).identifier)
        #expect(scenario.all(1...3, are: .confirmed))
    }

    @Test func `what was presumed before the end is proved, too, before the connection is half-closed`() throws {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.pass(.seconds(2))
        scenario.shutDown(.automatic)
        #expect(scenario.finished.isEmpty)
        scenario.send()
        scenario.respond(8, identifier: try #require(scenario.probe).identifier)
        #expect(scenario.finished.count == 1)
        #expect(scenario.all(1...3, are: .presumed))
        #expect(scenario.client.outcomes.unproved == nil)
    }

    @Test func `where no probe is possible, an error within 5 s of the last write is still heard`() {
        let scenario = Scenario { $0.command = .enhanced }
        // The first probe gets no answer, so that there is no second one.
        scenario.open(1...1)
        scenario.shutDown(.automatic)
        scenario.pass(.seconds(2), sending: true)
        scenario.respond(8, identifier: 0)
        scenario.connect()
        scenario.send()
        scenario.pass(.milliseconds(4900), sending: true)
        #expect(scenario[1] == .presumed)
        #expect(scenario.finished.isEmpty)
        scenario.pass(.seconds(1), sending: true)
        #expect(scenario.finished.count == 1)
        #expect(scenario.client.outcomes.unproved == Unproved(count: 1, cause: .notAsked))
    }

    @Test func `a probe is the last frame of its connection, and there is one`() {
        let scenario = Scenario {
            $0.probeWhenHeld = true
            $0.autoAdjustCache = false
            $0.cacheLength = 3
        }
        scenario.open(1...7)
        #expect(scenario.frames.map(\.name) == [1, 2, 3, nil])
        #expect(scenario.send().isEmpty)
        scenario.respond(2, identifier: 4)
        #expect(scenario.all(1...3, are: .confirmed))
        // The connection proved something, so the reconnect does not wait.
        scenario.connect(within: .zero)
        scenario.send()
        scenario.respond(2, identifier: 4)
        scenario.connect(within: .zero)
        #expect(scenario.send() == [7])
        #expect(scenario.resent == 0)
    }

    @Test func `a wordless close after a probe proves nothing and sends nothing again`() {
        let scenario = self.probed(1...5)
        scenario.end()
        #expect(scenario.all(1...5, are: .uncertain(.positionUnknown)))
        #expect(scenario.queued == 0)
        #expect(scenario.isFinished)
    }

    @Test func `a wordless close before the probe has left is like any other`() {
        let scenario = Scenario()
        scenario.open(1...2)
        scenario.kernelTakes = false
        scenario.submit(3...5)
        scenario.send()
        scenario.shutDown(.probe)
        scenario.pass(.seconds(2), sending: true)
        // The peer cannot be silent about bytes that its TCP does not have.
        #expect(scenario.probe == nil)
        scenario.end()
        scenario.kernelTakes = true
        #expect(scenario.outcomes.isEmpty)
        scenario.connect()
        #expect(scenario.send() == [1, 2, 3, 4, 5])
        scenario.pass(.seconds(2), sending: true)
        #expect(scenario.probe?.connection == scenario.current)
    }

    @Test func `a probe without an answer is given up after 30 s`() {
        let scenario = Scenario {
            $0.finality = .proof
        }
        scenario.open(1...3)
        scenario.pass(.seconds(2), sending: true)
        #expect(scenario.probe != nil)
        scenario.pass(.milliseconds(28_900))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.seconds(2))
        #expect(scenario.all(1...3, are: .uncertain(.positionUnknown)))
        #expect(scenario.closed.count == 1)
        // The client does not probe such a peer again.
        scenario.open(4...5)
        scenario.pass(.seconds(3), sending: true)
        #expect(scenario.all(4...5, are: .presumed))
    }

    @Test func `silence does not stand in for the proof that a shutdown asks for`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.shutDown(.probe)
        scenario.pass(.seconds(30), sending: true)
        #expect(scenario.probe != nil)
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.seconds(2))
        #expect(scenario.all(1...3, are: .uncertain(.positionUnknown)))
    }

    @Test func `a peer that shuts down before it can be probed is not sent the same for ever`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.pass(.milliseconds(600), sending: true)
        scenario.submit(4...5)
        scenario.send()
        scenario.shutDown(.probe)
        // It was silent for the settle time about the first three, and not yet about the others.
        scenario.pass(.milliseconds(600), sending: true)
        #expect(scenario.probe == nil && scenario.outcomes.isEmpty)
        scenario.respond(10, identifier: 0)
        #expect(scenario.all(1...3, are: .uncertain(.positionUnknown)))
        scenario.connect()
        #expect(scenario.send() == [4, 5])
    }

    @Test(arguments: [Proof.automatic, .probe])
    func `a peer that answers the probe without a name and then only shuts down is not sent the same for ever`(
        proof: Proof
    ) {
        let scenario = Scenario { $0.connectionRetryLimit = nil }
        scenario.open(1...1)
        scenario.shutDown(proof)
        scenario.pass(.milliseconds(1500), sending: true)
        #expect(scenario.probe != nil)
        scenario.respond(8, identifier: 0)
        for _ in 0..<3 {
            #expect(scenario[1] == nil)
            scenario.connect()
            #expect(scenario.send() == [1])
            scenario.pass(.seconds(1))
            scenario.respond(10, identifier: 0)
        }
        #expect(scenario[1] == .uncertain(.positionUnknown))
        #expect(scenario.isFinished)
    }

    @Test func `a peer that ignores probes holds the queue once`() {
        let scenario = Scenario {
            $0.probeWhenHeld = true
            $0.autoAdjustCache = false
            $0.cacheLength = 3
        }
        scenario.open(1...30)
        scenario.pass(.seconds(31), sending: true)
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(30), sending: true)
        #expect(scenario.all(1...30, are: .presumed))
    }

    @Test func `a fallback from proof to silence keeps no timer busy`() {
        let scenario = Scenario { $0.finality = .proof }
        scenario.open(1...1)
        scenario.pass(.seconds(2), sending: true)
        scenario.end()
        scenario.open(2...2)
        scenario.peerAcknowledges = false
        scenario.pass(.seconds(5), sending: true)
        if let next = scenario.nextDeadline { #expect(next > scenario.now) }
    }

    @Test func `finality by proof probes when there is no more to write`() {
        let scenario = Scenario { $0.finality = .proof }
        scenario.open(1...3)
        scenario.pass(.milliseconds(990), sending: true)
        #expect(scenario.probe == nil)
        scenario.pass(.milliseconds(20), sending: true)
        #expect(scenario.probe != nil)
        scenario.respond(2, identifier: 4)
        #expect(scenario.all(1...3, are: .confirmed))
    }

    @Test func `a peer that left a probe unanswered is asked again after a minute, and ever more rarely`() throws {
        let scenario = Scenario { $0.finality = .proof }
        func probes() -> Int { scenario.frames.count { $0.name == nil } }
        /// Sends one notification; returns whether a probe followed it.
        func isProbed(_ name: UInt32) -> Bool {
            let before = probes()
            scenario.submit(name...name)
            if scenario.isDisconnected { scenario.connect() }
            scenario.send()
            scenario.pass(.seconds(3), sending: true)
            return probes() > before
        }
        #expect(isProbed(1))
        scenario.pass(.seconds(31))
        #expect(!isProbed(2))
        scenario.pass(.seconds(60))
        #expect(isProbed(3))
        scenario.pass(.seconds(31))
        scenario.pass(.seconds(60))
        #expect(!isProbed(4))
        scenario.pass(.seconds(60))
        #expect(isProbed(5))
        // One answer ends the pauses.
        scenario.respond(2, identifier: try #require(scenario.probe).identifier)
        #expect(scenario[5] == .confirmed)
        #expect(isProbed(6))
        #expect(
            scenario.outcomes(of: 1...4) == [
                .uncertain(.positionUnknown), .presumed, .uncertain(.positionUnknown), .presumed,
            ]
        )
    }

    @Test func `a peer that never answers a probe is asked a few times a day`() {
        let scenario = Scenario { $0.finality = .proof }
        for name in 1...1440 as ClosedRange<UInt32> {
            scenario.submit(name...name)
            if scenario.isDisconnected { scenario.connect() }
            scenario.send()
            scenario.pass(.seconds(60), sending: true)
        }
        #expect(scenario.frames.count { $0.name == nil } < 40)
        #expect(scenario.counts.presumed > 1400)
    }
}
