import FerryBinary
import FerryCore
import NIOCore
import Testing

@Suite struct WindowTests {
    @Test func `after an error the window is four times the average progress, at least 10`() {
        let scenario = Scenario()
        scenario.open(1...5000)
        #expect(scenario.unsettled == 5000)
        scenario.respond(8, to: 501)
        scenario.connect()
        scenario.send()
        #expect(scenario.window == 2000)
        #expect(scenario.unsettled == 2000)
        scenario.respond(8, to: 502)
        scenario.connect()
        scenario.send()
        // The new value has a weight of a quarter: 0.75 × 500 + 0.25 × 0.
        #expect(scenario.window == 1500)
        for name in 503...530 as ClosedRange<UInt32> {
            scenario.respond(8, to: name)
            scenario.connect()
            scenario.send()
        }
        #expect(scenario.window == 10)
        #expect(scenario.unsettled == 10)
    }

    @Test func `the window never exceeds the cache`() {
        let scenario = Scenario {
            $0.autoAdjustCache = false
            $0.cacheLength = 300
        }
        scenario.open(1...300)
        scenario.respond(8, to: 300)
        scenario.open(301...301)
        #expect(scenario.window == 300)
    }

    @Test func `the window doubles each settle time without an error, until it is gone`() {
        let scenario = Scenario { $0.cacheLimit = .init(entries: 100, bytes: 1 << 20) }
        scenario.open(1...10)
        scenario.respond(8, to: 1)
        scenario.connect()
        scenario.send()
        // Nothing was accepted within the first settle time.
        scenario.pass(.milliseconds(1010))
        #expect(scenario.window == 10)
        scenario.pass(.milliseconds(1000))
        #expect(scenario.window == 20)
        scenario.pass(.milliseconds(2010))
        #expect(scenario.window == 80)
        scenario.pass(.milliseconds(1010))
        #expect(scenario.window == nil)
        let sizes = scenario.events.compactMap { event -> Int? in
            if case .windowAdjusted(let size) = event { size } else { nil }
        }
        #expect(sizes == [10, 20, 40, 80, 100])
    }

    @Test(arguments: [12, 15, 19, 30])
    func `a gateway that ends connections after a few notifications takes all of them`(limit: Int) {
        let scenario = Scenario { $0.connectionRetryLimit = nil }
        scenario.submit(1...100)
        var deliveries: [UInt32: Int] = [:]
        var connections = 0
        while connections < 100, scenario.counts.settled < 100 {
            let id = scenario.connect()
            connections += 1
            var read = 0
            while scenario.counts.settled < 100, read < limit {
                for name in scenario.send(on: id).prefix(limit - read) {
                    deliveries[name, default: 0] += 1
                    read += 1
                }
                scenario.pass(.milliseconds(125))
            }
            if read >= limit { scenario.respond(10, identifier: 0) }
        }
        #expect(scenario.counts.settled == 100)
        #expect(connections <= 30)
        #expect(deliveries.values.max() ?? 0 <= 8)
    }

    @Test func `under evict the window may grow to the bound of what is unsettled`() {
        let scenario = Scenario {
            $0.cachePolicy = .evict
            $0.cacheLength = 20
        }
        scenario.open(1...1000)
        scenario.respond(8, to: 501)
        scenario.connect()
        #expect(scenario.window == 2000)
    }

    /// Returns how many copies each of 5000 notifications costs if the peer ends each connection after 20.
    private func copiesEach(_ end: (Scenario, UInt32) -> Void) -> Double {
        let count: UInt32 = 5000
        let scenario = Scenario()
        scenario.submit(1...count)
        var last: UInt32 = 0
        while last < count {
            scenario.connect()
            scenario.send()
            last = min(last + 20, count)
            end(scenario, last)
        }
        #expect(scenario.counts.accepted + scenario.counts.rejected == Int(count))
        return Double(scenario.resent) / Double(count)
    }

    @Test func `a shutdown of the peer every 20 notifications costs less than five copies of each`() {
        #expect(self.copiesEach { $0.respond(10, to: $1) } < 5)
    }

    @Test func `a bad token every 20 notifications costs less than five copies of each`() {
        #expect(self.copiesEach { $0.respond(8, to: $1) } < 5)
    }

    @Test func `a shutdown narrows the window by what was accepted, as an error does`() {
        let scenario = Scenario()
        scenario.open(1...5000)
        scenario.respond(10, to: 500)
        scenario.connect()
        #expect(scenario.window == 2000)
    }

    @Test(arguments: [Scenario.response(10, 0), Array("220 mail".utf8)])
    func `an end without a name and without a culprit narrows the window`(bytes: [UInt8]) {
        let scenario = Scenario()
        scenario.open(1...5000)
        scenario.receive(bytes)
        scenario.connect()
        scenario.send()
        #expect(scenario.window == 10)
        #expect(scenario.unsettled == 10)
    }

    @Test func `where a fifth of the tokens is bad, each good one costs less than six copies`() {
        let count: UInt32 = 2000
        let scenario = Scenario()
        scenario.submit(1...count)
        while scenario.queued + scenario.unsettled > 0 {
            if scenario.isDisconnected { scenario.connect() }
            let bad = scenario.send().first { $0.isMultiple(of: 5) }
            scenario.pass(.milliseconds(100))
            if let bad { scenario.respond(8, to: bad) } else { scenario.pass(.seconds(1), sending: false) }
        }
        #expect(scenario.counts.rejected == 400)
        #expect(Double(scenario.resent) / Double(scenario.counts.accepted) < 6)
    }

    @Test func `what was settled before an end without a name counts as progress`() {
        let scenario = Scenario()
        scenario.open(1...200)
        scenario.pass(.seconds(2))
        scenario.submit(201...300)
        scenario.send()
        scenario.respond(10, identifier: 0)
        scenario.connect()
        #expect(scenario.window == 800)
    }
}
