import FerryBinary
import FerryCore
import NIOCore
import Testing

/// The probes that prove the windows of a search.
@Suite struct SearchProbeTests {
    /// Returns a search whose first window is 1…4 of 1…8.
    private func searching() -> Scenario {
        let scenario = Scenario()
        scenario.open(1...8)
        scenario.pass(.milliseconds(10))
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == [1, 2, 3, 4])
        return scenario
    }

    private func answerProbe(_ scenario: Scenario, status: UInt8 = 2) {
        for _ in 0..<200 where scenario.frames.last?.name != nil { scenario.pass(.milliseconds(10), sending: true) }
        #expect(scenario.frames.last?.name == nil)
        scenario.respond(status, identifier: 0)
    }

    @Test func `a probe behind a silent window confirms it, and the next connection takes half of what is left`() {
        let scenario = self.searching()
        scenario.pass(.milliseconds(990), sending: true)
        // No delay of an error response is known, so the window must be silent for a settle time.
        #expect(scenario.probe == nil && scenario.outcomes.isEmpty)
        self.answerProbe(scenario)
        #expect(scenario.all(1...4, are: .confirmed))
        scenario.connect()
        #expect(scenario.send() == [5, 6])
        self.answerProbe(scenario)
        scenario.connect()
        #expect(scenario.send() == [7])
        scenario.pass(.milliseconds(10))
        scenario.respond(8, identifier: 0)
        #expect(scenario[7] == .rejected(8, .inferred))
        // The search goes on among the others.
        scenario.connect()
        #expect(scenario.send() == [8])
        // The delay is known now.
        scenario.pass(.milliseconds(70), sending: true)
        #expect(scenario.frames.last?.name == nil)
        scenario.respond(2, identifier: 0)
        #expect(scenario[8] == .confirmed)
        #expect(scenario.contradicted == 0)
    }

    @Test func `an error behind a probe blames nobody, and silence decides for a minute`() {
        let scenario = self.searching()
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == [1, 2])
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == [1])
        // The peer answers probes as it refuses tokens.
        self.answerProbe(scenario, status: 8)
        #expect(scenario.outcomes.isEmpty)
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.pass(.seconds(3), sending: true)
        #expect(scenario[1] == .presumed)
        #expect(scenario.frames.count { $0.name == nil } == 1)
    }

    @Test func `without an answer to its probe a window goes out again, and silence decides`() {
        let scenario = self.searching()
        scenario.pass(.milliseconds(1200), sending: true)
        #expect(scenario.frames.last?.name == nil)
        scenario.pass(.milliseconds(1900), sending: true)
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(300), sending: true)
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(5), sending: true)
        #expect(scenario.all(1...8, are: .presumed))
        #expect(scenario.frames.count { $0.name == nil } == 1)
    }

    @Test func `a close upon the probe of a search counts against no notification`() {
        let scenario = self.searching()
        scenario.pass(.milliseconds(1200), sending: true)
        #expect(scenario.frames.last?.name == nil)
        scenario.end()
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(5), sending: true)
        #expect(scenario.all(1...8, are: .presumed))
    }

    @Test func `a culprit that no probe finds is contradicted, and probes are mistrusted`() {
        let scenario = self.searching()
        scenario.respond(8, identifier: 0)
        for expected in [[1, 2], [3], [4]] as [[UInt32]] {
            scenario.connect()
            #expect(scenario.send() == expected)
            self.answerProbe(scenario)
        }
        #expect(scenario.all(1...4, are: .confirmed))
        #expect(scenario.contradictions.map(\.count) == [1])
        #expect(scenario.contradictions.map(\.upTo) == [4])
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(5), sending: true)
        #expect(scenario.all(5...8, are: .presumed))
    }

    @Test func `a window that is not acknowledged for long keeps no deadline in the past`() {
        let scenario = Scenario { $0.finality = .proof }
        scenario.open(1...2)
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == [1])
        self.answerProbe(scenario)
        scenario.connect()
        scenario.peerAcknowledges = false
        #expect(scenario.send() == [2])
        scenario.pass(.seconds(5), sending: true)
        #expect(!scenario.isStuck)
    }

    @Test func `a shutdown in a search ends it by the probe of the end`() {
        let scenario = self.searching()
        scenario.shutDown(.automatic)
        self.answerProbe(scenario)
        scenario.connect()
        scenario.send()
        self.answerProbe(scenario)
        scenario.connect()
        scenario.send()
        self.answerProbe(scenario)
        scenario.connect()
        scenario.send()
        self.answerProbe(scenario)
        scenario.end()
        #expect(scenario.isFinished)
        #expect(scenario.all(1...8, are: .confirmed))
    }
}
