import FerryBinary
import FerryCore
import NIOCore
import Testing

@Suite struct CacheTests {
    @Test func `without auto-adjustment at most cacheLength notifications are unsettled`() {
        let scenario = Scenario {
            $0.autoAdjustCache = false
            $0.cacheLength = 10
        }
        scenario.open(1...35)
        #expect(scenario.unsettled == 10)
        scenario.pass(.seconds(20), sending: true)
        #expect(scenario.all(1...35, are: .presumed))
        #expect(scenario.frames.map(\.name) == (1...35).map { $0 })
    }

    @Test func `with auto-adjustment the cache grows to cacheLimit and writing waits there`() {
        let scenario = Scenario {
            $0.cacheLength = 10
            $0.cacheLimit = .init(entries: 50, bytes: 1 << 20)
        }
        scenario.open(1...80)
        #expect(scenario.unsettled == 50)
        scenario.pass(.seconds(3), sending: true)
        #expect(scenario.all(1...80, are: .presumed))
    }

    @Test func `the cache is bounded in bytes, too`() {
        let scenario = Scenario { $0.cacheLimit = .init(entries: 1000, bytes: 10_000) }
        scenario.submit(Array(1...40), payload: 1000)
        scenario.connect()
        scenario.send(atMost: 2000)
        while !scenario.send(atMost: 2000).isEmpty {}
        #expect((9...12).contains(scenario.unsettled))
        scenario.pass(.seconds(20), sending: true)
        #expect(scenario.all(1...40, are: .presumed))
    }

    @Test func `a cache that has no room for one notification takes one at a time`() {
        let scenario = Scenario { $0.cacheLimit = .init(entries: 0, bytes: 0) }
        scenario.open(1...3)
        #expect(scenario.unsettled == 1)
        scenario.pass(.seconds(20), sending: true)
        #expect(scenario.all(1...3, are: .presumed))
    }

    @Test func `a notification longer than what may be written at a time is written alone`() {
        let scenario = Scenario { $0.payloadLimit = 5120 }
        scenario.submit([1, 2], payload: 4000)
        scenario.connect()
        #expect(scenario.send(atMost: 1000) == [1])
        #expect(scenario.send(atMost: 1000) == [2])
    }

    @Test func `the cache is one for all connections`() {
        let scenario = Scenario {
            $0.maxConnections = 3
            $0.autoAdjustCache = false
            $0.cacheLength = 10
        }
        scenario.submit(1...60)
        for _ in 0..<3 { scenario.send(on: scenario.connect()) }
        #expect(scenario.unsettled == 10)
    }

    @Test func `what one connection has settled makes room for what another writes`() throws {
        let scenario = Scenario {
            $0.maxConnections = 2
            $0.autoAdjustCache = false
            $0.cacheLength = 10
        }
        scenario.submit(1...60)
        let first = scenario.connect()
        let second = scenario.connect()
        let settled = scenario.send(on: first)
        #expect(settled.count == 10)
        scenario.pass(.seconds(2))
        #expect(settled.allSatisfy { scenario[$0] == .presumed })
        #expect(scenario.send(on: second).count == 10)
        // The oldest bytes were dropped to stay within the limit, so nothing can be repaired.
        scenario.respond(8, to: try #require(settled.first))
        #expect(scenario.resent == 0)
        #expect(scenario.contradictions.filter { $0.kind == .lost }.flatMap(\.tags).count == 9)
    }

    // MARK: Evict

    private func evicting(_ cacheLength: Int, autoAdjusts: Bool = true, limit: Int = 40) -> Scenario {
        Scenario {
            $0.cachePolicy = .evict
            $0.cacheLength = cacheLength
            $0.autoAdjustCache = autoAdjusts
            $0.cacheLimit = .init(entries: limit, bytes: 1 << 20)
        }
    }

    @Test func `under evict writing never waits, and what was evicted is presumed like the rest`() {
        let scenario = self.evicting(10)
        scenario.open(1...100)
        #expect(scenario.unsettled == 100)
        scenario.pass(.seconds(2))
        #expect(scenario.all(1...100, are: .presumed))
    }

    @Test func `what was evicted and then discarded is named, and the shortfall is said`() {
        let scenario = self.evicting(10)
        scenario.open(1...30)
        scenario.respond(8, to: 5)
        #expect(scenario.all(1...4, are: .confirmed))
        #expect(scenario[5] == .rejected(8))
        #expect(scenario.all(6...20, are: .undelivered(.evicted)))
        #expect(scenario.shortfalls == [16])
        scenario.connect()
        #expect(scenario.send() == Array(21...30))
    }

    @Test func `an evicted notification that is rejected is known by its tag alone`() {
        let scenario = self.evicting(10)
        scenario.open(1...30)
        scenario.respond(8, to: 5)
        scenario.connect()
        scenario.send()
        scenario.respond(8, to: 25)
        #expect(scenario.transmissionErrors == [.init(tag: 5), .init(tag: 25, hasNotification: true, hasDevice: true)])
    }

    @Test(arguments: [(limit: 40, evicted: 32...44), (limit: 20, evicted: 32...50)])
    func `the cache grows by the shortfall, up to cacheLimit`(limit: Int, evicted: ClosedRange<UInt32>) {
        let scenario = self.evicting(10, limit: limit)
        scenario.open(1...40)
        // A cache that is larger by 16 would have kept it.
        scenario.respond(8, to: 15)
        scenario.submit(41...70)
        scenario.connect()
        scenario.send()
        scenario.respond(8, to: 31)
        #expect(scenario.all(evicted, are: .undelivered(.evicted)))
        scenario.connect()
        #expect(scenario.send() == Array(evicted.upperBound + 1...70))
    }

    @Test func `without auto-adjustment the cache does not grow`() {
        let scenario = self.evicting(10, autoAdjusts: false)
        scenario.open(1...40)
        scenario.respond(8, to: 15)
        scenario.submit(41...60)
        scenario.connect()
        scenario.send()
        scenario.respond(8, to: 31)
        #expect(scenario.shortfalls == [16, 20])
    }

    @Test func `what was evicted and may have arrived ends as uncertain when the position is unknown`() {
        let scenario = self.evicting(10)
        scenario.open(1...30)
        scenario.end()
        #expect(scenario.all(1...20, are: .uncertain(.notRepeated)))
        scenario.connect()
        #expect(scenario.send() == Array(21...30))
    }

    @Test func `what was evicted and never left is undelivered`() {
        let scenario = self.evicting(10)
        scenario.kernelTakes = false
        scenario.submit(1...5)
        scenario.connect()
        scenario.send()
        scenario.submit(6...30)
        scenario.send()
        scenario.hand(over: 0)
        scenario.end()
        // The first flush may have left in part; the second cannot have left.
        #expect(scenario.all(1...5, are: .uncertain(.notRepeated)))
        #expect(scenario.all(6...20, are: .undelivered(.evicted)))
        scenario.connect()
        #expect(scenario.send() == Array(21...30))
    }
}
