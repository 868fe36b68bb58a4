import FerryBinary
import FerryCore
import NIOCore
import Testing

@Suite struct ShutdownTests {
    @Test func `a shutdown sends what was taken, waits for silence, and half-closes`() {
        let scenario = Scenario()
        scenario.submit(1...3)
        scenario.shutDown()
        let id = scenario.connect()
        #expect(scenario.send() == [1, 2, 3])
        #expect(scenario.finished.isEmpty)
        scenario.pass(.seconds(2))
        #expect(scenario.all(1...3, are: .presumed))
        #expect(scenario.finished == [id])
        #expect(!scenario.isFinished)
        scenario.end()
        #expect(scenario.isFinished)
    }

    @Test func `a peer that does not close after the half-close is left after 5 s`() {
        let scenario = Scenario()
        scenario.open(1...1)
        scenario.shutDown()
        scenario.pass(.seconds(2))
        #expect(!scenario.isFinished)
        scenario.pass(.seconds(5))
        #expect(scenario.isFinished)
        #expect(scenario.closed.count == 1)
    }

    @Test func `an error response after the half-close is still repaired`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.shutDown()
        scenario.pass(.seconds(2))
        #expect(scenario.finished.count == 1)
        scenario.respond(8, to: 1)
        #expect(!scenario.isFinished)
        scenario.connect()
        #expect(scenario.send() == [2, 3])
        scenario.pass(.seconds(20))
        #expect(scenario.isFinished)
        #expect(scenario.contradicted == 1)
    }

    @Test func `at the deadline what is written is uncertain and the rest undelivered`() {
        let scenario = Scenario {
            $0.autoAdjustCache = false
            $0.cacheLength = 3
        }
        scenario.open(1...5)
        scenario.shutDown()
        scenario.abandon()
        #expect(scenario.all(1...3, are: .uncertain(.shutDown)))
        #expect(scenario.all(4...5, are: .undelivered(.shutDown)))
        #expect(scenario.isFinished)
        #expect(scenario.closed.count == 1)
        #expect(scenario.nextDeadline == nil)
    }

    @Test func `a shutdown of an idle client is complete at once`() {
        let scenario = Scenario()
        scenario.shutDown()
        #expect(scenario.isFinished)
    }

    @Test func `a shutdown gives up connections that are being made for nothing`() {
        let scenario = Scenario()
        scenario.submit([1], isAwaited: true)
        #expect(scenario.dials.count == 1)
        scenario.withdraw(1)
        scenario.shutDown()
        #expect(scenario.dials.isEmpty)
        #expect(scenario.isFinished)
    }

    @Test func `completed is said once for each time that everything settled`() {
        let scenario = Scenario()
        func completions() -> Int {
            scenario.events.count { if case .completed = $0 { true } else { false } }
        }
        scenario.open(1...3)
        #expect(completions() == 0)
        scenario.pass(.seconds(20))
        #expect(completions() == 1)
        scenario.submit(4...4)
        scenario.send()
        scenario.pass(.seconds(20))
        #expect(completions() == 2)
    }
}
