import FerryBinary
import FerryCore
import NIOCore
import Testing

@Suite struct WindowTests {
    @Test func `after an error the window is four times the average progress, at least 100`() {
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
        // A quarter of the average is news: 0.75 × 500 + 0.25 × 0.
        #expect(scenario.window == 1500)
        for name in 503...520 as ClosedRange<UInt32> {
            scenario.respond(8, to: name)
            scenario.connect()
            scenario.send()
        }
        #expect(scenario.window == 100)
        #expect(scenario.unsettled == 100)
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
        let scenario = Scenario { $0.cacheLimit = .init(entries: 1000, bytes: 1 << 20) }
        scenario.open(1...10)
        scenario.respond(8, to: 1)
        scenario.connect()
        scenario.send()
        #expect(scenario.window == 100)
        scenario.pass(.milliseconds(1010))
        #expect(scenario.window == 200)
        scenario.pass(.milliseconds(2010))
        #expect(scenario.window == 800)
        scenario.pass(.milliseconds(1010))
        #expect(scenario.window == nil)
        let sizes = scenario.events.compactMap { event -> Int? in
            if case .windowAdjusted(let size) = event { size } else { nil }
        }
        #expect(sizes == [100, 200, 400, 800, 1000])
    }

    @Test func `status 10 narrows no window`() {
        let scenario = Scenario()
        scenario.open(1...10)
        scenario.respond(10, to: 5)
        scenario.connect()
        #expect(scenario.window == nil)
    }
}
