import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct SettlingTests {
    @Test func `acknowledged silence for the settle time presumes acceptance, and not before`() {
        let scenario = Scenario()
        scenario.open(1...5)
        scenario.pass(.milliseconds(990))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(300))
        #expect(scenario.all(1...5, are: .presumed))
    }

    @Test func `what is not acknowledged is never presumed`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...5)
        scenario.pass(.hours(1))
        #expect(scenario.outcomes.isEmpty)
    }

    @Test func `a frame whose last byte is missing is not acknowledged`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...1)
        let first = scenario.sentBytes
        scenario.submit(2...2)
        scenario.send()
        scenario.acknowledge(scenario.sentBytes - 1)
        scenario.pass(.milliseconds(100))
        scenario.acknowledge(first)
        scenario.pass(.seconds(10))
        #expect(scenario[2] == nil)
    }

    @Test func `the clock stands still while nothing moves`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...1)
        scenario.acknowledge(scenario.sentBytes)
        scenario.pass(.milliseconds(500))
        // Further bytes are not acknowledged: the peer's kernel is full, so the peer does not read.
        scenario.submit(2...2)
        scenario.send()
        scenario.pass(.seconds(25))
        #expect(scenario.outcomes.isEmpty)
        scenario.acknowledge(scenario.sentBytes)
        scenario.pass(.milliseconds(400))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(500))
        #expect(scenario[1] == .presumed)
        #expect(scenario[2] == nil)
        scenario.pass(.milliseconds(500))
        #expect(scenario[2] == .presumed)
    }

    @Test func `the clock stands still while the channel is not writable`() {
        let scenario = Scenario()
        scenario.open(1...1)
        scenario.isWritable = false
        scenario.pass(.seconds(60))
        #expect(scenario.outcomes.isEmpty)
        scenario.isWritable = true
        scenario.pass(.milliseconds(800))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(500))
        #expect(scenario[1] == .presumed)
    }

    @Test
    func `a connection on which nothing is acknowledged for 30 s is given up, and its notifications go out again`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...3)
        scenario.kernelTakes = false
        scenario.submit(4...6)
        scenario.send()
        scenario.submit(7...7)
        scenario.send()
        scenario.pass(.seconds(29))
        #expect(scenario.closed.isEmpty)
        scenario.pass(.seconds(2))
        #expect(scenario.closed.count == 1)
        let isTold = scenario.events.contains { if case .socketError = $0 { true } else { false } }
        #expect(isTold)
        #expect(scenario.outcomes.isEmpty)
        scenario.kernelTakes = true
        scenario.peerAcknowledges = true
        scenario.connect()
        #expect(scenario.send() == Array(1...7))
        // The last one never left, so it is no copy.
        #expect(scenario.resent == 6)
        scenario.pass(.seconds(2))
        #expect(scenario.all(1...7, are: .presumed))
    }

    @Test func `under report a stall makes uncertain`() {
        let scenario = Scenario { $0.onUnknown = .report }
        scenario.peerAcknowledges = false
        scenario.open(1...3)
        scenario.pass(.seconds(31))
        #expect(scenario.all(1...3, are: .uncertain(.positionUnknown)))
        #expect(scenario.resent == 0)
    }

    @Test func `each acknowledgement begins the 30 s of a stall anew`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...30)
        for part in 1...5 as ClosedRange<UInt64> {
            scenario.pass(.seconds(25))
            scenario.acknowledge(scenario.sentBytes * part / 6)
        }
        #expect(scenario.closed.isEmpty)
        scenario.pass(.seconds(31))
        #expect(scenario.closed.count == 1)
    }

    @Test(arguments: [BinaryOptions.Finality.silence, .proof], [Duration.seconds(1), .seconds(3600)])
    func `a stall ends the connection whatever settles on it, and however late`(
        finality: BinaryOptions.Finality,
        settleTime: Duration
    ) {
        let scenario = Scenario {
            $0.finality = finality
            $0.settleTime = settleTime
        }
        scenario.peerAcknowledges = false
        scenario.open(1...3)
        scenario.writability(false, on: scenario.current)
        scenario.pass(.seconds(45))
        #expect(scenario.closed.count == 1)
        #expect(scenario.queued == 3)
    }

    @Test func `a process that was stopped is no stall of the peer`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...1)
        scenario.pass(.seconds(1))
        scenario.stop(for: .hours(1))
        scenario.tick()
        #expect(scenario.closed.isEmpty)
    }

    @Test func `stalls do not repeat for ever`() {
        let scenario = Scenario { $0.connectionRetryLimit = 3 }
        scenario.peerAcknowledges = false
        scenario.submit(1...3)
        while scenario.errors.isEmpty, scenario.closed.count < 10 {
            scenario.connect()
            scenario.send()
            scenario.pass(.seconds(31))
        }
        #expect(scenario.closed.count == 4)
        #expect(scenario.errors.map(\.code) == [.connectionRetryLimit])
        #expect(scenario.all(1...3, are: .uncertain(.positionUnknown)))
    }

    @Test func `where acknowledgements do not show, everything ends as uncertain and is sent once`() {
        let scenario = Scenario()
        scenario.showsAcknowledgements = false
        scenario.open(1...3)
        scenario.pass(.seconds(29))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.seconds(2))
        #expect(scenario.all(1...3, are: .uncertain(.positionUnknown)))
        #expect(scenario.resent == 0)
    }

    @Test func `what a probe can prove needs no acknowledgement to show`() throws {
        let scenario = Scenario { $0.finality = .proof }
        scenario.showsAcknowledgements = false
        scenario.open(1...1)
        for name in 2...80 as ClosedRange<UInt32> {
            scenario.submit(name...name)
            scenario.send()
            scenario.pass(.milliseconds(500), sending: true)
        }
        scenario.pass(.seconds(2), sending: true)
        #expect(scenario.closed.isEmpty)
        scenario.respond(2, identifier: try #require(scenario.probe).identifier)
        #expect(scenario.all(1...80, are: .confirmed))
    }

    @Test func `a process that was stopped has not listened meanwhile`() {
        let scenario = Scenario()
        scenario.open(1...1)
        scenario.stop(for: .hours(1))
        scenario.tick()
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(600))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(600))
        #expect(scenario[1] == .presumed)
    }

    @Test func `what waits to be read speaks before silence does`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.hasUnread = true
        scenario.pass(.seconds(60))
        #expect(scenario.outcomes.isEmpty)
        scenario.respond(8, to: 2)
        #expect(scenario.outcomes(of: 1...3) == [.confirmed, .rejected(8), nil])
    }

    @Test func `there is one mark for a flush, and it settles as a whole`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...100)
        scenario.acknowledge(scenario.sentBytes / 2)
        scenario.pass(.seconds(5))
        #expect(scenario.outcomes.isEmpty)
        scenario.acknowledge(scenario.sentBytes)
        scenario.pass(.milliseconds(1300))
        #expect(scenario.all(1...100, are: .presumed))
    }

    @Test func `more flushes than marks are merged, and all settle`() {
        var silence = Silence()
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        let count = UInt64(Silence.markLimit + 500)
        for flush in 1...count { silence.flushed(flush, at: flush * 10, now: start) }
        func look(_ acknowledged: UInt64, after milliseconds: Int64) -> UInt64? {
            silence.look(
                TransportSample(acknowledged: acknowledged, handed: count * 10, hasUnread: false, isWritable: true),
                settleTime: .seconds(1),
                settles: true,
                now: start + .milliseconds(milliseconds)
            )
        }
        // The merged mark counts as acknowledged only with its last byte.
        var last: UInt64?
        for step in 0..<12 as Range<Int64> { last = look(count * 10 - 1, after: step * 100) ?? last }
        #expect(last == nil || last == UInt64(Silence.markLimit - 1))
        for step in 12..<30 as Range<Int64> { last = look(count * 10, after: step * 100) ?? last }
        #expect(last == count)
        #expect(silence.isEmpty)
    }

    @Test func `an idle connection has nothing to look at`() {
        let scenario = Scenario()
        scenario.open(1...3)
        scenario.pass(.seconds(2))
        let samples = scenario.sampleCount
        #expect(samples <= 18)
        scenario.pass(.minutes(30))
        #expect(scenario.sampleCount == samples)
    }

    @Test func `the settle time is raised to 1,5 times the longest delay, up to 10 s`() {
        var delay = ErrorDelay(settleTime: .seconds(1))
        let now = NIODeadline.uptimeNanoseconds(0)
        delay.saw(.milliseconds(400), now: now)
        #expect(delay.settleTime == .seconds(1))
        delay.saw(.seconds(4), now: now)
        #expect(delay.settleTime == .seconds(6))
        delay.saw(.seconds(2), now: now)
        #expect(delay.settleTime == .seconds(6))
        delay.saw(.hours(100_000), now: now)
        #expect(delay.settleTime == .seconds(10))
    }

    @Test func `the longest delay is halved for every hour without a longer one`() {
        var delay = ErrorDelay(settleTime: .seconds(1))
        let now = NIODeadline.uptimeNanoseconds(0)
        delay.saw(.seconds(4), now: now)
        delay.decay(now: now + .minutes(59))
        #expect(delay.settleTime == .seconds(6))
        delay.decay(now: now + .minutes(60))
        #expect(delay.settleTime == .seconds(3))
        delay.decay(now: now + .minutes(119))
        #expect(delay.settleTime == .seconds(3))
        // No look happened for a long time.
        delay.decay(now: now + .hours(24))
        #expect(delay.settleTime == .seconds(1))
    }

    @Test func `a culprit that answers far sooner than was suspected halves the suspicion`() {
        var delay = ErrorDelay(settleTime: .seconds(1))
        let now = NIODeadline.uptimeNanoseconds(0)
        delay.suspect(.seconds(4), now: now)
        #expect(delay.settleTime == .seconds(6))
        delay.found(.milliseconds(500), now: now)
        #expect(delay.settleTime == .seconds(6))
        delay.found(.milliseconds(499), now: now)
        #expect(delay.settleTime == .seconds(3))
    }

    @Test func `the delay of an error response raises the settle time of what comes after it`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...2)
        scenario.pass(.seconds(4))
        scenario.respond(8, to: 1)
        scenario.peerAcknowledges = true
        scenario.connect()
        scenario.send()
        scenario.pass(.milliseconds(5900))
        #expect(scenario[2] == nil)
        scenario.pass(.milliseconds(1000))
        #expect(scenario[2] == .presumed)
    }

    @Test func `a shutdown after minutes without errors is no delay of an error response`() {
        let scenario = Scenario()
        scenario.open(1...2)
        scenario.pass(.seconds(8))
        scenario.respond(10, to: 2)
        scenario.open(3...3)
        scenario.pass(.milliseconds(1300))
        #expect(scenario[3] == .presumed)
    }

    @Test func `a shutdown that discards followers shows how late it came for them`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...2)
        scenario.pass(.seconds(4))
        scenario.respond(10, to: 1)
        scenario.peerAcknowledges = true
        scenario.connect()
        scenario.send()
        scenario.pass(.milliseconds(5900))
        #expect(scenario[2] == nil)
    }

    @Test func `the end of a connection that stood still is no delay of an error response`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.open(1...2)
        scenario.pass(.seconds(25))
        scenario.reset()
        scenario.peerAcknowledges = true
        scenario.connect()
        scenario.send()
        scenario.pass(.milliseconds(1300))
        #expect(scenario.all(1...2, are: .presumed))
    }

    @Test func `a settle time of zero settles what is acknowledged`() {
        let scenario = Scenario { $0.settleTime = .zero }
        scenario.open(1...2)
        scenario.pass(.milliseconds(10))
        #expect(scenario.all(1...2, are: .presumed))
    }

    @Test func `with finality by proof silence settles nothing, however long`() {
        let scenario = Scenario { $0.finality = .proof }
        scenario.open(1...3)
        scenario.pass(.seconds(20), sending: true)
        #expect(scenario.outcomes.isEmpty)
    }

    @Test func `finality by proof on a command without identifiers settles by silence`() {
        let scenario = Scenario {
            $0.finality = .proof
            $0.command = .simple
        }
        scenario.open(1...3)
        scenario.pass(.seconds(3), sending: true)
        #expect(scenario.all(1...3, are: .presumed))
    }
}
