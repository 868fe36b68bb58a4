import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2
@testable import FerryHTTP2World

/// Paths that forget a quiet connection.
struct HTTP2IdleTests {
    /// A client with one connection that was idle for `time`. Its path has forgotten it if `isSilent` is true.
    private func idle(
        _ time: TimeAmount = .seconds(31),
        isSilent: Bool = true,
        _ configure: (inout HTTP2Options) -> Void = { _ in }
    ) -> Scenario {
        let scenario = Scenario(configure)
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.pass(time)
        scenario.links[scenario.current]?.isSilent = isSilent
        return scenario
    }

    @Test func `after an idle time no request goes out before the answer to a PING`() {
        let scenario = self.idle()
        let connection = scenario.current
        scenario.submit(2...5)
        #expect(scenario.arrived == [1])
        scenario.links[connection]?.isSilent = false
        scenario.exchange()
        #expect(scenario.arrived == [1, 2, 3, 4, 5])
        #expect(scenario.pings(on: connection) == 1)
        #expect(scenario.dialCount == 1)
    }

    @Test func `a connection with traffic sends no PING`() {
        let scenario = self.idle(.seconds(29), isSilent: false)
        for name in 2...10 as ClosedRange<UInt32> {
            scenario.submit(name...name)
            #expect(scenario.arrived.last == name)
            scenario.answer(name)
            scenario.pass(.seconds(29))
        }
        #expect(scenario.pings(on: scenario.current) == 0)
    }

    @Test func `a path that is silent after a pause costs no notification, and little time`() {
        let scenario = self.idle()
        let old = scenario.current
        scenario.submit(2...5)
        scenario.pass(.milliseconds(1100))
        #expect(scenario.dialCount == 2)
        let new = scenario.connect()
        #expect(scenario.requests.map(\.connection) == Array(repeating: new, count: 4))
        scenario.answerAll()
        #expect((2...5).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
        scenario.pass(.seconds(20))
        #expect(scenario.closed.contains(old) || scenario.finished.contains(old))
        #expect(scenario.events.contains { if case .socketError(old, _) = $0 { true } else { false } })
    }

    @Test func `a reset after a pause costs no notification`() {
        let scenario = self.idle()
        scenario.submit(2...5)
        scenario.end(nil, .lost(ProviderError(.connectionLost, "reset")))
        scenario.connect()
        scenario.answerAll()
        #expect((2...5).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
    }

    @Test func `a PING that is answered late goes on with the old connection, and one stays`() {
        let scenario = self.idle()
        let old = scenario.current
        scenario.submit(2...2)
        scenario.pass(.milliseconds(1100))
        #expect(scenario.dialCount == 2)
        scenario.links[old]?.isSilent = false
        scenario.exchange()
        #expect(scenario.requests.map(\.connection) == [old])
        scenario.connect()
        scenario.answer(2)
        #expect(scenario.outcome(2) == .accepted(.confirmed))
        #expect(scenario.finished == [old])
    }

    @Test func `time in which the machine slept counts as idle`() {
        let scenario = self.idle(.seconds(1))
        scenario.slept = .seconds(60)
        scenario.submit(2...2)
        #expect(scenario.arrived == [1])
        scenario.pass(.milliseconds(1100))
        scenario.connect()
        #expect(scenario.arrived == [1, 2])
    }

    @Test func `bytes that lay in the socket during the pause prove nothing`() {
        let scenario = self.idle()
        scenario.say(RawFrame.ping)
        scenario.submit(2...2)
        #expect(scenario.arrived == [1])
    }

    @Test func `a silent connection without work is found dead by its PING`() {
        let scenario = self.idle { $0.pingInterval = .seconds(100) }
        let connection = scenario.current
        scenario.pass(.seconds(110))
        #expect(scenario.closed == [connection])
        #expect(scenario.dialCount == 1)
    }

    @Test func `while sending pauses, an idle connection is asked once`() {
        let scenario = self.idle(isSilent: false) { $0.circuitBreaker?.threshold = 2 }
        scenario.submit(2...3)
        scenario.answerAll(status: 400, "BadDeviceToken")
        scenario.submit(4...4)
        scenario.pass(.milliseconds(500))
        #expect(scenario.pings(on: scenario.current) == 1)
    }

    // MARK: The counts of PINGs

    @Test func `a PING that is answered is counted with its time`() {
        let scenario = self.idle()
        scenario.submit(2...2)
        let before = scenario.takePings()
        #expect(before.sent == 1 && before.answered == 0)
        scenario.pass(.milliseconds(300))
        scenario.links[scenario.current]?.isSilent = false
        scenario.exchange()
        let pings = scenario.takePings()
        #expect(pings.sent == 0 && pings.answered == 1 && pings.unanswered == 0)
        #expect(pings.roundTrips.durations == [.milliseconds(300)])
        #expect(scenario.takePings().isEmpty)
    }

    @Test func `a connection that another one replaces leaves an unanswered PING, once`() {
        let scenario = self.idle()
        scenario.countPings()
        scenario.submit(2...5)
        scenario.pass(.milliseconds(1100))
        scenario.connect()
        scenario.answerAll()
        scenario.pass(.seconds(20))
        let pings = scenario.takePings()
        #expect(pings.sent == 1 && pings.answered == 0 && pings.unanswered == 1)
    }

    @Test func `the counts outlive their connection`() {
        let dead = self.idle { $0.pingInterval = .seconds(100) }
        dead.countPings()
        dead.pass(.seconds(110))
        let unanswered = dead.takePings()
        #expect(unanswered.sent == 1 && unanswered.unanswered == 1)
        let lost = self.idle()
        lost.countPings()
        lost.submit(2...2)
        lost.end()
        #expect(lost.takePings().sent == 1)
        let abandoned = self.idle()
        abandoned.countPings()
        abandoned.submit(2...2)
        abandoned.abandon()
        #expect(abandoned.takePings().sent == 1)
    }

    @Test func `without an owner that counts PINGs, those of a connection that is gone are dropped`() {
        let lost = self.idle()
        lost.submit(2...2)
        lost.end()
        #expect(lost.takePings().isEmpty)
        let abandoned = self.idle()
        abandoned.submit(2...2)
        abandoned.abandon()
        #expect(abandoned.takePings().isEmpty)
    }

    // MARK: Silence is judged by what was read

    @Test func `the owner reads the socket of a connection before its silence counts`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        let connection = scenario.connect()
        scenario.pass(.seconds(9))
        #expect(scenario.client.judged(at: scenario.now).isEmpty)
        #expect(scenario.client.judged(at: scenario.now + .seconds(2)) == [connection])
    }
}

/// Requests that wait for late answers.
struct HTTP2LateAnswerTests {
    private func scenario() -> Scenario {
        let scenario = Scenario { $0.lateAnswerLimit = .seconds(300) }
        scenario.submit(1...3)
        scenario.connect()
        scenario.answer(1)
        return scenario
    }

    @Test func `a request waits for its late answer while PINGs are answered, and new ones go elsewhere`() {
        let scenario = self.scenario()
        let old = scenario.current
        scenario.pass(.seconds(15))
        scenario.submit(4...4)
        let new = scenario.connect()
        #expect(scenario.requests.last?.connection == new)
        scenario.pass(.seconds(240))
        #expect(scenario.closed.isEmpty && scenario.outcome(2) == nil)
        scenario.answer(2, 3)
        #expect((2...3).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
        #expect(scenario.finished == [old])
    }

    @Test func `a peer that stands still for 15 s costs nothing, and new requests go elsewhere after 8 s`() {
        let scenario = self.scenario()
        let old = scenario.current
        scenario.links[old]?.isSilent = true
        scenario.pass(.seconds(7))
        scenario.submit(4...4)
        #expect(scenario.dialCount == 1)
        scenario.pass(.milliseconds(1100))
        scenario.submit(5...5)
        #expect(scenario.dialCount == 2)
        scenario.pass(.milliseconds(6900))
        scenario.links[old]?.isSilent = false
        scenario.exchange()
        scenario.answer(2, 3, 4)
        #expect((2...4).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
    }

    @Test func `a peer that answers no PING for ten seconds is dead`() {
        let scenario = self.scenario()
        scenario.links[scenario.current]?.isSilent = true
        scenario.pass(.seconds(17))
        #expect((2...3).allSatisfy { scenario.outcome($0) == .uncertain(.positionUnknown) })
    }

    @Test func `no answer is waited for longer than the limit`() {
        let scenario = self.scenario()
        scenario.pass(.seconds(299))
        #expect(scenario.outcome(2) == nil)
        scenario.pass(.seconds(2))
        #expect((2...3).allSatisfy { scenario.outcome($0) == .uncertain(.noAnswer) })
    }

    @Test func `a peer that answers PINGs and no requests gets few connections`() {
        let scenario = Scenario { $0.lateAnswerLimit = .seconds(300) }
        var most = 0
        for name in 1...290 as ClosedRange<UInt32> {
            scenario.submit(name...name)
            if !scenario.dials.isEmpty { scenario.connect() }
            scenario.pass(.seconds(1))
            most = max(most, scenario.links.count)
        }
        #expect(most == 4 && scenario.dialCount == 4)
        // When it answers again, a new connection is made at once.
        scenario.answerAll()
        #expect(scenario.dials.count == 1)
        scenario.connect()
        scenario.submit(1000...1000)
        scenario.answerAll()
        #expect(scenario.outcome(1000) == .accepted(.confirmed))
    }

    @Test func `requests without an answer that fill the window do not stop new ones`() {
        let scenario = Scenario {
            $0.lateAnswerLimit = .seconds(300)
            $0.maxStreams = 2
        }
        scenario.submit(1...2)
        scenario.connect()
        // The second is never answered. The others are, until another joins it.
        for name in 3...6 as ClosedRange<UInt32> {
            scenario.answer(name == 3 ? 1 : name - 1)
            scenario.submit(name...name)
            scenario.pass(.seconds(4))
        }
        #expect(scenario.dialCount == 1)
        scenario.submit(7...7)
        scenario.pass(.seconds(1))
        #expect(scenario.dialCount == 2)
    }
}
