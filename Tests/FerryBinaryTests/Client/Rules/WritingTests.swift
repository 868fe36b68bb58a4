import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct WritingTests {
    @Test func `expiration is checked against the wall clock at each write`() {
        let scenario = Scenario()
        let now = scenario.epochSeconds
        scenario.submit([1])
        scenario.submit([2], expiration: now)
        scenario.submit([3], expiration: now + 1)
        scenario.submit([4], expiration: 0)
        scenario.connect()
        #expect(scenario.send() == [1, 3, 4])
        #expect(scenario[2] == .expired)
        scenario.epochSeconds += 60
        scenario.respond(8, to: 1)
        scenario.connect()
        // The gateway discarded 3. It was not tainted, and has expired now.
        #expect(scenario.send() == [4])
        #expect(scenario[3] == .expired)
    }

    @Test func `a jump of the wall clock moves nothing else`() {
        let scenario = Scenario()
        scenario.open(1...1)
        scenario.epochSeconds = 0
        scenario.pass(.milliseconds(500))
        scenario.epochSeconds = .max
        scenario.pass(.milliseconds(400))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(400))
        #expect(scenario[1] == .presumed)
    }

    @Test func `a payload beyond the limit is rejected by Ferry and the rest go on`() {
        let scenario = Scenario { $0.payloadLimit = 256 }
        scenario.submit([1])
        scenario.submit([2], payload: 257)
        scenario.submit([3], payload: 256)
        scenario.connect()
        #expect(scenario.send() == [1, 3])
        #expect(scenario[2] == .rejected(7, .ferry))
    }

    @Test func `only what was not written is withdrawn, and only what is awaited`() {
        let scenario = Scenario {
            $0.autoAdjustCache = false
            $0.cacheLength = 1
        }
        scenario.submit([1, 2], isAwaited: true)
        scenario.submit([3])
        scenario.connect()
        #expect(scenario.send() == [1])
        scenario.withdraw(1, 2, 3)
        #expect(scenario.outcomes(of: 1...3) == [nil, .undelivered(.cancelled), nil])
        scenario.pass(.seconds(5), sending: true)
        #expect(scenario.outcomes(of: 1...3) == [.presumed, .undelivered(.cancelled), .presumed])
    }

    @Test func `nothing is written while outcomes wait for their reader`() {
        let scenario = Scenario()
        scenario.submit(1...3)
        scenario.pause(true)
        scenario.connect()
        #expect(scenario.send().isEmpty)
        scenario.pause(false)
        #expect(scenario.send() == [1, 2, 3])
    }

    @Test func `everything of a queue may be refused`() {
        let scenario = Scenario()
        scenario.submit(Array(1...2000), expiration: 1)
        scenario.connect()
        #expect(scenario.send().isEmpty)
        #expect(scenario.all(1...2000, are: .expired))
        #expect(scenario.queued == 0)
    }

    /// The bytes of a peer must never trap, and never cost a notification its outcome.
    @Test func `whatever bytes come, everything has one outcome`() {
        for seed in 0..<2000 as Range<UInt64> {
            var generator = SplitMix64(seed: seed)
            let scenario = Scenario {
                $0.cachePolicy = Bool.random(using: &generator) ? .hold : .evict
                $0.cacheLength = Int.random(in: 1...20, using: &generator)
                $0.finality = Int.random(in: 0..<3, using: &generator) == 0 ? .proof : .silence
                $0.probeWhenHeld = Bool.random(using: &generator)
                $0.retryLimit = 1
                $0.firstSequence = Bool.random(using: &generator) ? UInt64(UInt32.max) - 5 : 0
            }
            scenario.submit(1...30)
            for _ in 0..<Int.random(in: 1...40, using: &generator) {
                if scenario.isDisconnected {
                    guard scenario.queued > 0 else { break }
                    scenario.connect()
                }
                scenario.send()
                let identifiers = [0, 1, 5, 12, 30, 31, .max] + scenario.frames.suffix(40).map(\.identifier)
                var bytes = Scenario.response(
                    [0, 0, 1, 2, 5, 8, 10, 255].randomElement(using: &generator) ?? 8,
                    identifiers.randomElement(using: &generator) ?? 0
                )
                if Int.random(in: 0..<8, using: &generator) == 0 { bytes[0] = .random(in: 0...255, using: &generator) }
                if Bool.random(using: &generator) {
                    scenario.pass(.milliseconds(.random(in: 0...3000, using: &generator)), sending: true)
                }
                guard !scenario.isDisconnected else { continue }
                scenario.receive(Array(bytes.prefix(.random(in: 1...6, using: &generator))))
                if !scenario.isDisconnected, Bool.random(using: &generator) { scenario.end() }
            }
            scenario.abandon()
            if scenario.isStuck { return }
            guard scenario.outcomes.count == 30, scenario.outcomes.values.allSatisfy({ $0.count == 1 }) else {
                Issue.record("seed \(seed): \(scenario.outcomes)")
                return
            }
        }
    }
}
