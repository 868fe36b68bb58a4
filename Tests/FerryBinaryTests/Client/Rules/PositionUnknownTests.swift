import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

/// A connection that ended without saying how far the peer had read.
@Suite struct PositionUnknownTests {
    /// The kernel has 1…2, a part of 3…4, and nothing of 5…6. 7…8 were not written.
    private func threeClasses(_ policy: BinaryOptions.UnknownPolicy) -> Scenario {
        let scenario = Scenario {
            $0.onUnknown = policy
            $0.autoAdjustCache = false
            $0.cacheLength = 6
        }
        scenario.submit(1...2)
        scenario.kernelTakes = false
        scenario.connect()
        var offsets: [UInt64] = []
        for names in [3...4, 5...6, 7...8] as [ClosedRange<UInt32>] {
            scenario.send()
            offsets.append(scenario.sentBytes)
            scenario.submit(names)
        }
        scenario.send()
        #expect(scenario.unsettled == 6)
        scenario.hand(over: offsets[0] + 5)
        return scenario
    }

    @Test func `what never left goes out again under either policy, and the rest by policy`() {
        let resending = self.threeClasses(.resend)
        resending.reset()
        #expect(resending.outcomes.isEmpty)
        #expect(resending.resent == 0)
        resending.kernelTakes = true
        resending.connect()
        #expect(resending.send() == [1, 2, 3, 4, 5, 6])
        #expect(resending.resent == 4)

        let reporting = self.threeClasses(.report)
        reporting.reset()
        #expect(reporting.all(1...4, are: .uncertain(.positionUnknown)))
        #expect(reporting.resent == 0)
        reporting.kernelTakes = true
        reporting.connect()
        #expect(reporting.send() == [5, 6, 7, 8])
    }

    @Test(arguments: [BinaryOptions.UnknownPolicy.resend, .report])
    func `what was presumed keeps its outcome and is not sent again`(policy: BinaryOptions.UnknownPolicy) {
        let scenario = Scenario { $0.onUnknown = policy }
        scenario.open(1...3)
        scenario.pass(.seconds(2))
        scenario.submit(4...5)
        scenario.send()
        scenario.reset()
        #expect(scenario.all(1...3, are: .presumed))
        #expect(scenario.queued == (policy == .resend ? 2 : 0))
        #expect(scenario.contradicted == 0)
    }

    @Test func `a flush that the owner had no time to note may have left`() {
        let scenario = Scenario { $0.onUnknown = .report }
        scenario.submit(1...2)
        let id = scenario.connect()
        scenario.endsWhileSending(on: id)
        #expect(scenario.all(1...2, are: .uncertain(.positionUnknown)))
    }

    @Test func `a culprit that has lost its bytes is rejected without its notification`() {
        let scenario = Scenario {
            $0.cachePolicy = .evict
            $0.cacheLength = 1
            $0.autoAdjustCache = false
        }
        scenario.kernelTakes = false
        scenario.open(1...1)
        scenario.submit(2...2)
        scenario.send()
        scenario.respond(8, identifier: 0)
        #expect(scenario.outcomes(of: 1...2) == [.rejected(8, .inferred), nil])
        #expect(scenario.transmissionErrors == [.init(tag: 1)])
    }

    @Test func `what was sent before can no longer expire`() {
        let scenario = Scenario()
        scenario.submit([1, 2], expiration: scenario.epochSeconds + 10)
        scenario.connect()
        scenario.send()
        scenario.reset()
        scenario.epochSeconds += 100
        scenario.submit([3], expiration: scenario.epochSeconds - 1)
        scenario.connect()
        #expect(scenario.send() == [1, 2])
        #expect(scenario.outcomes(of: 1...3) == [nil, nil, .expired])
    }

    @Test func `what was sent before can no longer end as undelivered`() {
        let scenario = Scenario { $0.connectionRetryLimit = 2 }
        scenario.open(1...2)
        scenario.reset()
        scenario.submit(3...3)
        while scenario.errors.isEmpty { scenario.failDial() }
        #expect(scenario.all(1...2, are: .uncertain(.positionUnknown)))
        #expect(scenario[3] == .undelivered(.noConnection))
    }

    @Test func `what was sent before is not withdrawn, and ends a shutdown as uncertain`() {
        let scenario = Scenario()
        scenario.submit([1], isAwaited: true)
        scenario.connect()
        scenario.send()
        scenario.reset()
        scenario.submit([2], isAwaited: true)
        scenario.withdraw(1, 2)
        #expect(scenario.outcomes(of: 1...2) == [nil, .undelivered(.cancelled)])
        scenario.abandon()
        #expect(scenario[1] == .uncertain(.shutDown))
    }

    @Test func `an error response that comes behind a reset of the last connection is not awaited for ever`() {
        let scenario = Scenario()
        scenario.open(1...2)
        let first = scenario.current
        scenario.reset()
        scenario.receive(Scenario.response(8, 1), on: first)
        scenario.connect()
        #expect(scenario.send() == [1, 2])
        scenario.pass(.seconds(3))
        #expect(scenario.all(1...2, are: .presumed))
    }

    // MARK: With a culprit
    //
    // Command 0 has no probes, so there silence alone clears a window.

    @Test(arguments: [0, 99] as [UInt32])
    func `the sole notification of a connection is the culprit`(identifier: UInt32) {
        for policy in [BinaryOptions.UnknownPolicy.resend, .report] {
            let scenario = Scenario { $0.onUnknown = policy }
            scenario.open(1...1)
            scenario.respond(8, identifier: identifier)
            #expect(scenario[1] == .rejected(8, .inferred))
            #expect(scenario.resent == 0)
        }
    }

    @Test func `the sole unsettled notification is not blamed for what others may have done`() {
        let scenario = Scenario { $0.command = .simple }
        scenario.open(1...5)
        scenario.pass(.seconds(2))
        scenario.submit(6...6)
        scenario.send()
        scenario.respond(8, identifier: 0)
        #expect(scenario[6] == nil)
        scenario.connect()
        #expect(scenario.send() == [1, 2, 3])
        scenario.pass(.seconds(7), sending: true)
        #expect(scenario[6] == .presumed)
    }

    @Test(arguments: [false, true])
    func `while a culprit is looked for, none is blamed that was not alone on its connection`(isGuilty: Bool) {
        let scenario = Scenario { $0.command = .simple }
        scenario.open(1...2)
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.pass(.milliseconds(60))
        #expect(scenario.send() == [2])
        // The error may be a late one about the first notification, because silence for the quiet time gave it no
        // outcome.
        scenario.respond(8, identifier: 0)
        #expect(scenario.outcomes.isEmpty)
        scenario.connect()
        #expect(scenario.send() == [2])
        if isGuilty { scenario.respond(8, identifier: 0) } else { scenario.pass(.seconds(11), sending: true) }
        #expect(scenario[2] == (isGuilty ? .rejected(8, .inferred) : .presumed))
        if isGuilty { scenario.connect() }
        scenario.send()
        scenario.pass(.seconds(11), sending: true)
        #expect(scenario[1] == .presumed)
    }

    @Test func `silence that clears a window gives it no outcome before the settle time`() {
        let scenario = Scenario { $0.command = .simple }
        scenario.open(1...4)
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == [1, 2])
        scenario.pass(.milliseconds(60))
        #expect(scenario.send() == [3, 4])
        scenario.pass(.milliseconds(900))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(300))
        #expect(scenario.all(1...4, are: .presumed))
    }

    @Test func `a search whose culprit was silent goes on with growing windows`() {
        let scenario = Scenario { $0.command = .simple }
        scenario.open(1...1000)
        // The culprit seemed to be among the first four, but they were silent then: the error was late, or about the
        // connection.
        for _ in 0..<8 {
            scenario.respond(8, identifier: 0)
            scenario.connect()
            scenario.send()
        }
        let before = scenario.frames.count
        scenario.pass(.seconds(60), sending: true)
        #expect(scenario.all(1...1000, are: .presumed))
        #expect(scenario.frames.count - before <= 1000)
    }

    @Test func `each error without a name doubles the wait of a search, up to the settle time`() {
        let scenario = Scenario { $0.command = .simple }
        scenario.open(1...4)
        var waits: [Int64] = []
        for _ in 0..<7 {
            scenario.respond(8, identifier: 0)
            scenario.connect()
            let first = scenario.send()
            let start = scenario.now
            while scenario.send().isEmpty { scenario.pass(.milliseconds(1)) }
            #expect(!first.isEmpty)
            waits.append((scenario.now - start).nanoseconds / 1_000_000)
        }
        for (wait, expected) in zip(waits, [50, 100, 200, 400, 800, 1000, 1000] as [Int64]) {
            // The client looks eight times in a wait.
            #expect((expected...expected * 9 / 8 + 2).contains(wait))
        }
    }

    @Test func `without a name the culprit is found by halving windows, each followed by silence`() {
        let scenario = Scenario { $0.command = .simple }
        scenario.open(1...16)
        let culprit: UInt32 = 11
        var windows: [[UInt32]] = []
        scenario.pass(.milliseconds(10))
        scenario.respond(8, identifier: 0)
        for _ in 0..<200 where scenario[culprit] == nil {
            if !scenario.dials.isEmpty || scenario.client.unsettledCount == 0 && scenario.isDisconnected {
                scenario.connect()
            }
            let names = scenario.send()
            if names.isEmpty {
                scenario.pass(.milliseconds(60))
                continue
            }
            windows.append(names)
            if names.contains(culprit) {
                scenario.pass(.milliseconds(10))
                scenario.respond(8, identifier: 0)
            }
        }
        #expect(scenario[culprit] == .rejected(8, .inferred))
        #expect(windows.map(\.count).max() == 8)
        #expect(windows.last == [culprit])
        // The followers were sent at most twice for each halving.
        #expect(scenario.frames.count < 16 * 6)
        if scenario.isDisconnected { scenario.connect() }
        scenario.send()
        scenario.pass(.seconds(5), sending: true)
        #expect(scenario.all(1...10, are: .presumed))
        #expect(scenario.all(12...16, are: .presumed))
    }

    @Test func `a window of a search waits four times the longest delay of an error`() {
        let scenario = Scenario { $0.settleTime = .seconds(5) }
        scenario.open(1...3)
        scenario.pass(.milliseconds(500))
        scenario.respond(8, to: 1)
        scenario.connect()
        #expect(scenario.send() == [2, 3])
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == [2])
        scenario.pass(.milliseconds(1900), sending: true)
        #expect(scenario.frames.last?.name == 2)
        scenario.pass(.milliseconds(400), sending: true)
        // Then a probe is to prove it.
        #expect(scenario.frames.last?.name == nil)
        #expect(scenario[2] == nil)
    }

    @Test func `isolation ends when the suspects were confirmed`() {
        let scenario = Scenario()
        scenario.open(1...2)
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.respond(0, to: 1)
        #expect(scenario.send() == [2])
        scenario.respond(0, to: 2)
        // The search is over. The number that it proved sets the window.
        scenario.submit(3...30)
        #expect(scenario.send() == Array(3...12))
    }

    @Test func `a response with status 0 does not widen a window that is still on the wire`() {
        let scenario = Scenario()
        scenario.open(1...16)
        scenario.respond(8, identifier: 0)
        scenario.connect()
        #expect(scenario.send() == Array(1...8))
        scenario.respond(0, to: 1)
        #expect(scenario.send().isEmpty)
    }

    @Test func `an isolated lane whose connections fail for other reasons gives up some time`() {
        let scenario = Scenario { $0.connectionRetryLimit = 3 }
        scenario.open(1...2)
        scenario.respond(8, identifier: 0)
        for _ in 0..<10 where scenario.errors.isEmpty {
            scenario.connect()
            scenario.send()
            scenario.respond(10, identifier: 0)
        }
        #expect(scenario.errors.map(\.code) == [.connectionRetryLimit])
        #expect(scenario.all(1...2, are: .uncertain(.positionUnknown)))
    }

    // MARK: Poison

    /// Lets the peer close without a response whenever it reads `poison`. Runs until everything has an outcome.
    private func run(_ scenario: Scenario, poison: UInt32, last: UInt32) {
        for _ in 0..<500 where scenario.unsettled + scenario.queued > 0 {
            if scenario.isDisconnected { scenario.connect() }
            if scenario.send().contains(poison) {
                scenario.end()
            } else {
                scenario.pass(.milliseconds(200))
            }
        }
    }

    @Test func `a notification that makes the peer close is found, and the rest go on`() {
        let scenario = Scenario()
        scenario.submit(1...20)
        self.run(scenario, poison: 7, last: 20)
        #expect(scenario[7] == .uncertain(.peerCloses))
        #expect(scenario.all(1...6, are: .presumed))
        #expect(scenario.all(8...20, are: .presumed))
        let alone = scenario.frames.filter { frame in
            frame.name == 7 && scenario.frames.filter { $0.connection == frame.connection }.last?.name == 7
        }
        #expect(alone.count >= 3)
    }

    @Test func `after wordless closes there is a whole settle time between one notification and the next`() {
        let scenario = Scenario()
        scenario.submit(1...2)
        for _ in 0..<3 {
            scenario.connect()
            scenario.send()
            scenario.end()
        }
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.pass(.milliseconds(900))
        #expect(scenario[1] == nil)
        scenario.pass(.milliseconds(400))
        #expect(scenario[1] == .presumed)
    }

    @Test func `wordless closes of idle connections isolate nothing`() {
        let scenario = Scenario()
        for name in 1...10 as ClosedRange<UInt32> {
            scenario.open(name...name)
            scenario.pass(.seconds(2))
            scenario.end()
        }
        #expect(scenario.all(1...10, are: .presumed))
        #expect(scenario.resent == 0)
        scenario.open(11...60)
        #expect(scenario.unsettled == 50)
    }

    @Test func `closes before anything is acknowledged are closes without a word, too`() {
        let scenario = Scenario()
        scenario.peerAcknowledges = false
        scenario.submit(1...10)
        for _ in 0..<3 {
            scenario.connect()
            scenario.send()
            // A look finds unacknowledged bytes, as during any round trip.
            scenario.pass(.milliseconds(200))
            scenario.end()
        }
        scenario.connect()
        #expect(scenario.send() == [1, 2, 3, 4, 5])
    }

    @Test func `closes upon one notification are not counted against the next`() {
        let scenario = Scenario()
        scenario.submit(1...2)
        for _ in 0..<3 {
            scenario.connect()
            scenario.send()
            scenario.end()
        }
        for _ in 0..<2 {
            scenario.connect()
            #expect(scenario.send() == [1])
            scenario.end()
        }
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.pass(.seconds(10))
        #expect(scenario[1] == .presumed)
        // Now the peer closes on the second notification for the first time.
        scenario.send()
        scenario.end()
        #expect(scenario[2] == nil)
    }

    @Test func `under report nothing is sent again, however often the peer closes`() {
        let scenario = Scenario { $0.onUnknown = .report }
        scenario.submit(1...3)
        scenario.connect()
        scenario.send()
        scenario.end()
        #expect(scenario.all(1...3, are: .uncertain(.positionUnknown)))
        #expect(scenario.resent == 0)
    }
}
