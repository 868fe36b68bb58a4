import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct LateErrorTests {
    @Test func `a late error response for a presumed notification contradicts it and raises the settle time`() {
        let scenario = Scenario()
        scenario.open(1...1)
        scenario.pass(.seconds(3))
        #expect(scenario[1] == .presumed)
        scenario.respond(8, to: 1)
        #expect(scenario.contradicted == 1)
        #expect(scenario.contradictions.map(\.tags) == [[1]])
        #expect(
            scenario.contradictions.first?.kind
                == .rejected(Rejection(reason: .badDeviceToken, origin: .gateway, status: 8))
        )
        #expect(scenario.counts.presumed == 1)
        #expect(scenario.counts.rejected == 0)
        scenario.open(2...2)
        scenario.pass(.milliseconds(4400))
        #expect(scenario[2] == nil)
        scenario.pass(.milliseconds(1000))
        #expect(scenario[2] == .presumed)
    }

    @Test func `presumed followers that are still held go out again and keep their outcome`() {
        let scenario = Scenario()
        scenario.open(1...4)
        scenario.pass(.seconds(3))
        scenario.respond(8, to: 2)
        #expect(scenario.contradicted == 1)
        let repairs = scenario.events.contains { if case .resent(2, afterOutcome: true) = $0 { true } else { false } }
        #expect(repairs)
        scenario.connect()
        #expect(scenario.send() == [3, 4])
        scenario.pass(.seconds(10))
        #expect(scenario.outcomes.values.allSatisfy { $0 == [.presumed] })
        #expect(scenario.contradicted == 1)
        #expect(scenario.resent == 2)
    }

    @Test func `presumed followers go out before what was submitted later`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.pass(.seconds(3))
        scenario.pause(true)
        scenario.submit(4...5)
        scenario.respond(8, to: 1)
        scenario.pause(false)
        scenario.connect()
        #expect(scenario.send() == [2, 3, 4, 5])
    }

    @Test func `a repair that fails too is contradicted, once`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.pass(.seconds(3))
        scenario.respond(8, to: 1)
        scenario.connect()
        scenario.send()
        scenario.respond(8, to: 2)
        #expect(scenario.contradicted == 2)
        #expect(scenario.contradictions.map(\.tags) == [[1], [2]])
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(20))
        #expect(scenario.contradicted == 2)
        #expect(scenario.outcomes.values.allSatisfy { $0 == [.presumed] })
    }

    @Test func `followers of which only a stub is left are contradicted by their tags`() {
        let scenario = Scenario {
            $0.autoAdjustCache = false
            $0.cacheLength = 2
        }
        scenario.open(1...2)
        scenario.pass(.seconds(2))
        scenario.submit(3...4)
        scenario.send()
        scenario.pass(.seconds(2))
        scenario.respond(8, to: 1)
        let lost = scenario.contradictions.filter { $0.kind == .lost }
        #expect(lost.map(\.tags) == [[2]])
        #expect(scenario.contradicted == 2)
        scenario.connect()
        #expect(scenario.send() == [3, 4])
    }

    @Test func `what is forgotten is contradicted by a count`() {
        let scenario = Scenario()
        scenario.open(1...5)
        scenario.pass(.seconds(60))
        scenario.respond(8, identifier: 2)
        #expect(scenario.contradicted == 4)
        #expect(scenario.contradictions.allSatisfy { $0.tags.isEmpty })
        #expect(scenario.contradictions.map(\.count).sorted() == [1, 3])
        #expect(scenario.outcomes.values.allSatisfy { $0 == [.presumed] })
    }

    @Test func `what is presumed is remembered for 10 s`() {
        let scenario = Scenario()
        scenario.open(1...2)
        scenario.pass(.milliseconds(9900))
        scenario.respond(8, to: 1)
        #expect(scenario.contradictions.map(\.tags) == [[1]])
        scenario.connect()
        #expect(scenario.send() == [2])
    }

    @Test func `a repair neither expires nor is withdrawn nor ends a second time`() {
        let scenario = Scenario()
        scenario.submit([1])
        scenario.submit([2], expiration: scenario.epochSeconds + 2, isAwaited: true)
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(3))
        scenario.epochSeconds += 3
        scenario.respond(8, to: 1)
        scenario.withdraw(2)
        #expect(scenario.queued == 1)
        scenario.connect()
        #expect(scenario.send() == [2])
        scenario.pass(.seconds(20))
        #expect(scenario.contradicted == 1)
        #expect(scenario[2] == .presumed)
    }

    @Test func `a shutdown loses repairs only by saying so`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.pass(.seconds(3))
        scenario.respond(8, to: 1)
        scenario.abandon()
        #expect(scenario.contradicted == 3)
        #expect(scenario.contradictions.filter { $0.kind == .lost }.flatMap(\.tags) == [2, 3])
    }

    @Test func `an awaited notification's tag, which is the provider's own, is in no contradiction`() {
        let scenario = Scenario()
        scenario.submit([1, 2], isAwaited: true)
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(3))
        scenario.respond(8, to: 1)
        #expect(scenario.contradicted == 1)
        #expect(scenario.contradictions.flatMap(\.tags).isEmpty)
    }

    @Test func `without buffering, presumed followers are lost and said to be`() {
        let scenario = Scenario { $0.buffersNotifications = false }
        scenario.open(1...3)
        scenario.pass(.seconds(3))
        scenario.respond(8, to: 1)
        #expect(scenario.contradicted == 3)
        #expect(scenario.contradictions.filter { $0.kind == .lost }.flatMap(\.tags) == [2, 3])
        #expect(scenario.queued == 0)
    }

    @Test func `under report a late error without a name contradicts one, and says which it may be`() {
        let scenario = Scenario { $0.onUnknown = .report }
        scenario.open(1...5)
        scenario.pass(.seconds(3))
        scenario.respond(8, identifier: 0)
        #expect(scenario.contradicted == 1)
        #expect(scenario.contradictions.map(\.count) == [1])
        #expect(scenario.contradictions.map(\.upTo) == [5])
        #expect(scenario.contradictions.map(\.tags) == [[1, 2, 3, 4, 5]])
    }

    @Test func `a late error without a name makes suspects of what was presumed, and the settle time longer`() {
        let scenario = Scenario { $0.command = .simple }
        scenario.open(1...5)
        scenario.pass(.seconds(3))
        scenario.submit(6...6)
        scenario.send()
        scenario.respond(8, identifier: 0)
        #expect(scenario.contradicted == 0)
        scenario.connect()
        #expect(scenario.send() == [1, 2, 3])
        // The oldest suspect was 3 s old, so silence must last 4.5 s.
        scenario.pass(.seconds(4), sending: true)
        #expect(scenario[6] == nil)
        scenario.pass(.seconds(2), sending: true)
        #expect(scenario.all(1...6, are: .presumed))
        #expect(scenario.resent == 6)
    }

    @Test func `a shutdown ends although status 10 comes each time before a copy can settle`() {
        let scenario = Scenario { $0.connectionRetryLimit = nil }
        scenario.open(1...2)
        scenario.pass(.seconds(3))
        scenario.respond(8, to: 1)
        scenario.shutDown()
        for _ in 0..<4 {
            scenario.connect()
            #expect(scenario.send() == [2])
            scenario.pass(.seconds(2))
            scenario.respond(10, identifier: 0)
        }
        #expect(scenario.isFinished)
        #expect(scenario[2] == .presumed)
        #expect(scenario.contradictions.map(\.tags) == [[1], [2]])
        #expect(scenario.contradictions.last?.kind == .uncertain)
    }

    @Test func `errors without a name at every end repeat nothing more than three times`() {
        let scenario = Scenario { $0.command = .simple }
        scenario.open(1...4)
        for _ in 0..<10 where scenario.contradicted == 0 {
            // Silence settles the notifications even with the longer settle time, and their bytes are still kept.
            for _ in 0..<60 where scenario.unsettled > 0 { scenario.pass(.seconds(1), sending: true) }
            scenario.respond(8, identifier: 0)
            guard scenario.queued > 0 else { break }
            scenario.connect()
            scenario.send()
        }
        #expect(scenario.contradictions.map(\.upTo) == [4])
        #expect(scenario.contradictions.map(\.tags) == [[1, 2, 3, 4]])
        #expect(scenario.resent == 3 * 4)
    }

    @Test func `a culprit that was presumed is contradicted by its tag`() {
        let scenario = Scenario()
        scenario.open(1...4)
        scenario.pass(.seconds(3))
        scenario.respond(8, identifier: 0)
        while !scenario.contradictions.contains(where: { $0.tags == [3] }) {
            if scenario.isDisconnected { scenario.connect() }
            if scenario.send().contains(3) {
                scenario.pass(.milliseconds(10))
                scenario.respond(8, identifier: 0)
            } else {
                scenario.pass(.milliseconds(500))
            }
            guard scenario.frames.count < 1000 else { break }
        }
        #expect(scenario.contradictions.last?.tags == [3])
        #expect(scenario.all(1...4, are: .presumed))
        // On the way the search suspected notifications that were presumed before it, and reported them.
        #expect(scenario.contradictions.dropLast().allSatisfy { $0.upTo >= $0.count && !$0.tags.contains(3) })
    }

    @Test func `however many followers a late error disproves, that is one event with all tags`() {
        let scenario = Scenario { $0.buffersNotifications = false }
        scenario.open(1...3000)
        scenario.pass(.seconds(3))
        scenario.respond(8, to: 1)
        #expect(scenario.contradictions.map(\.count) == [2999, 1])
        #expect(scenario.contradictions.first?.tags.count == 2999)
    }

    @Test func `a repair whose fate is unknown is told`() {
        let scenario = Scenario()
        scenario.open(1...5)
        scenario.pass(.seconds(3))
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == [1, 2])
        scenario.abandon()
        #expect(scenario.all(1...5, are: .presumed))
        #expect(scenario.contradictions.flatMap(\.tags).map(\.rawValue).sorted() == [1, 2, 3, 4, 5])
        #expect(scenario.contradictions.allSatisfy { $0.kind == .uncertain })
    }

    @Test func `a follower of a named error that was not sent again is lost`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.pass(.seconds(3))
        scenario.respond(8, to: 1)
        scenario.abandon()
        #expect(scenario.contradictions.last == Contradiction(count: 2, tags: [2, 3], kind: .lost))
    }

    @Test func `completed comes again after a repair`() {
        let scenario = Scenario()
        scenario.open(1...3)
        func completions() -> Int { scenario.events.count { if case .completed = $0 { true } else { false } } }
        scenario.pass(.seconds(3))
        #expect(completions() == 1)
        scenario.respond(8, to: 1)
        #expect(completions() == 1)
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(10))
        #expect(completions() == 2)
    }

    @Test func `copies are counted when they are written`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.respond(8, to: 1)
        #expect(scenario.resent == 0)
        scenario.connect()
        scenario.send()
        #expect(scenario.resent == 2)
    }

    @Test func `what was proved is not in doubt after a late error without a name`() {
        let scenario = Scenario { $0.onUnknown = .report }
        scenario.open(1...5)
        scenario.respond(0, to: 3)
        scenario.pass(.seconds(3))
        scenario.respond(8, identifier: 0)
        #expect(scenario.contradictions.map(\.upTo) == [2])
    }

    @Test func `a late error without a name contradicts one even of what is forgotten, unless all was proved`() {
        let scenario = Scenario()
        scenario.open(1...5)
        scenario.pass(.seconds(60))
        scenario.respond(8, identifier: 0)
        #expect(scenario.contradictions.map(\.upTo) == [5])
        scenario.open(6...9)
        scenario.respond(0, to: 9)
        scenario.respond(8, identifier: 0)
        #expect(scenario.contradicted == 1)
    }
}
