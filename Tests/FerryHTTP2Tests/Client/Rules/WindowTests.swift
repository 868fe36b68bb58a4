import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2World

struct HTTP2WindowTests {
    @Test func `with provider tokens one request goes first, and the others after its answer`() {
        let scenario = Scenario(usesTokens: true)
        scenario.submit(1...10)
        scenario.connect()
        #expect(scenario.arrived == [1])
        scenario.answer(1)
        #expect(scenario.arrived == Array(1...10))
    }

    @Test func `a refused token does not open the window`() {
        let scenario = Scenario(usesTokens: true)
        scenario.submit(1...10)
        scenario.connect()
        scenario.answer(1, status: 403, "InvalidProviderToken")
        #expect(scenario.arrived == [1, 2])
        scenario.answer(2, status: 429, "TooManyProviderTokenUpdates")
        scenario.pass(.minutes(21))
        #expect(scenario.underWay <= 1)
    }

    @Test func `with a certificate the window is that of SETTINGS at once`() {
        let scenario = Scenario()
        scenario.settings.maxConcurrentStreams = 7
        scenario.submit(1...10)
        scenario.connect()
        #expect(scenario.arrived.count == 7)
    }

    @Test(arguments: [1, 500, 3000, 4000])
    func `a flow-control window that ends in a payload does not change the order`(length: Int) {
        let scenario = Scenario()
        scenario.submit(1...1)
        let connection = scenario.connect()
        let link = scenario.links[connection]
        // Nothing opens the window meanwhile.
        link?.isSilent = true
        scenario.submit(Array(2...100)) { name in
            let padding = String(repeating: " ", count: length)
            return (try PushNotification(json: "{\"n\":\(name),\"aps\":{}\(padding)}".utf8), [1])
        }
        link?.isSilent = false
        scenario.exchange()
        #expect(scenario.arrived == Array(1...100))
    }

    @Test func `SETTINGS that allow no stream hold everything, also at the cold start`() {
        for usesTokens in [false, true] {
            let scenario = Scenario(usesTokens: usesTokens)
            scenario.settings.maxConcurrentStreams = 0
            scenario.submit(1...3)
            scenario.connect()
            scenario.submit(4...4)
            // One request may have been written before SETTINGS arrived.
            #expect(scenario.underWay <= 1)
            #expect(scenario.outcomes.isEmpty)
            scenario.update(maxConcurrentStreams: 10)
            scenario.pass(.milliseconds(50))
            scenario.answerAll()
            scenario.answerAll()
            #expect(scenario.outcomes.count == 4)
        }
    }

    @Test func `a connection that allows no stream for long is left for another`() {
        let scenario = Scenario()
        scenario.submit(1...2)
        let first = scenario.connect()
        scenario.answer(1)
        scenario.pass(.seconds(5))
        scenario.update(maxConcurrentStreams: 0)
        scenario.submit(3...4)
        scenario.answer(2)
        scenario.pass(.seconds(9))
        #expect(scenario.dialCount == 1)
        scenario.pass(.seconds(2))
        #expect(scenario.finished == [first])
        scenario.connect()
        #expect(scenario.arrived == [1, 2, 3, 4])
        scenario.answerAll()
        #expect((1...4).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
    }

    @Test func `a connection that takes every stream back before it can be used is left`() {
        let scenario = Scenario { $0.deadline = .seconds(3600) }
        scenario.submit(1...1)
        let first = scenario.connect(isSilent: true)
        scenario.say(RawFrame.settings(maxConcurrentStreams: 0))
        scenario.say(RawFrame.headers(1, [(":status", "200")], isLast: true))
        #expect(scenario.outcome(1) == .accepted(.confirmed))
        scenario.submit(2...2)
        let flap = RawFrame.settings(maxConcurrentStreams: 1) + RawFrame.settings(maxConcurrentStreams: 0)
        for _ in 0..<20 where scenario.finished.isEmpty {
            scenario.pass(.seconds(1))
            scenario.say(flap)
        }
        #expect(scenario.finished == [first])
        scenario.connect()
        scenario.answer(2)
        #expect(scenario.outcome(2) == .accepted(.confirmed))
    }

    @Test func `the time that a connection was closed before counts no more once it is open`() {
        let scenario = Scenario { $0.deadline = .seconds(3600) }
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.update(maxConcurrentStreams: 0)
        scenario.pass(.minutes(1))
        scenario.update(maxConcurrentStreams: 1)
        scenario.pass(.minutes(1))
        scenario.update(maxConcurrentStreams: 0)
        scenario.submit(2...2)
        scenario.pass(.seconds(9))
        #expect(scenario.finished.isEmpty)
        scenario.update(maxConcurrentStreams: 1)
        scenario.answer(2)
        #expect(scenario.outcome(2) == .accepted(.confirmed))
    }

    @Test func `a connection that allows no stream is kept while there is nothing to send`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.update(maxConcurrentStreams: 0)
        scenario.pass(.minutes(10))
        #expect(scenario.finished.isEmpty)
        #expect(scenario.dialCount == 1)
    }

    @Test func `servers that allow no stream are tried one after the other, ever less often`() {
        let scenario = Scenario {
            $0.deadline = .seconds(3600)
            $0.connectionRetryLimit = nil
        }
        scenario.settings.maxConcurrentStreams = 0
        // Otherwise the first request would go out before SETTINGS arrive.
        scenario.pause(true)
        scenario.submit(1...3)
        var waits: [TimeAmount] = []
        for count in 1...5 {
            let start = scenario.now
            scenario.connect()
            waits.append(scenario.now - start)
            #expect(scenario.dialCount == count)
        }
        #expect(waits[1] >= .seconds(10) && waits[4] >= .milliseconds(11_500), "\(waits)")
        scenario.update(maxConcurrentStreams: 10)
        scenario.pause(false)
        scenario.answerAll()
        #expect((1...3).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
    }

    @Test func `SETTINGS that shrink hold what would be too much, and growing ones let it go`() {
        let scenario = Scenario()
        scenario.submit(1...2)
        scenario.connect()
        scenario.update(maxConcurrentStreams: 3)
        scenario.submit(3...10)
        #expect(scenario.arrived.count == 3)
        scenario.answer(1)
        #expect(scenario.arrived.count == 4)
        scenario.update(maxConcurrentStreams: 1000)
        #expect(scenario.arrived.count == 10)
    }

    @Test func `the option limits the window, too`() {
        let scenario = Scenario { $0.maxStreams = 2 }
        scenario.submit(1...10)
        scenario.connect()
        #expect(scenario.arrived == [1, 2])
    }

    @Test func `no second connection is made because SETTINGS says one stream`() {
        let scenario = Scenario { $0.maxConnections = 4 }
        scenario.settings.maxConcurrentStreams = 1
        scenario.submit(1...100)
        scenario.connect()
        for name in 1...50 as ClosedRange<UInt32> { scenario.answer(name) }
        scenario.pass(.seconds(1))
        #expect(scenario.dialCount == 1)
        #expect(scenario.arrived.count == 51)
    }

    @Test func `a connection that lets few requests be under way is what the others wait for`() {
        let scenario = Scenario()
        scenario.settings.maxConcurrentStreams = 1
        scenario.submit(1...2)
        #expect(scenario.client.bottleneck == nil)
        scenario.connect()
        #expect(scenario.client.bottleneck != nil)
        scenario.answer(1)
        // No request waits after the last one.
        #expect(scenario.client.bottleneck == nil)
        scenario.submit(3...20)
        #expect(scenario.client.bottleneck != nil)
        scenario.update(maxConcurrentStreams: 10)
        #expect(scenario.client.bottleneck == nil)
    }

    @Test func `a second connection is made when the first is full`() {
        let scenario = Scenario {
            $0.maxConnections = 2
            $0.maxStreams = 10
        }
        scenario.submit(1...100)
        scenario.connect()
        #expect(scenario.dialCount == 1)
        scenario.answer(1)
        #expect(scenario.dialCount == 2)
        scenario.connect()
        #expect(scenario.underWay == 20)
    }

    @Test func `a connection whose flow-control window is used up gets a second one beside it`() {
        let scenario = Scenario { $0.maxConnections = 2 }
        scenario.submit(1...1)
        let connection = scenario.connect()
        scenario.answer(1)
        scenario.links[connection]?.isSilent = true
        scenario.submit(Array(2...200)) { name in
            let padding = String(repeating: " ", count: 4000)
            return (try PushNotification(json: "{\"n\":\(name),\"aps\":{}\(padding)}".utf8), [1])
        }
        #expect(scenario.dialCount == 2)
        scenario.connect()
        #expect(scenario.underWay > 30)
    }

    @Test func `REFUSED_STREAM sends the notification again and halves the window`() {
        let scenario = Scenario()
        scenario.settings.maxConcurrentStreams = 8
        scenario.submit(1...9)
        scenario.connect()
        scenario.reset(1, 7)
        #expect(scenario.outcomes.isEmpty)
        scenario.answerAll()
        #expect(scenario.underWay <= 4)
        scenario.pass(.milliseconds(20))
        scenario.answerAll()
        #expect(scenario.arrived.count { $0 == 1 } == 2)
        #expect((1...9).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
        #expect(scenario.events.contains { if case .windowAdjusted(4) = $0 { true } else { false } })
    }

    @Test func `while nothing may be written, nothing spins`() {
        let scenario = Scenario { $0.maxConnections = 2 }
        scenario.settings.maxConcurrentStreams = 2
        scenario.submit(1...20)
        scenario.connect()
        scenario.answer(1)
        // The second connection fails. Its wait ends while the first connection does not count as full.
        scenario.failDial()
        scenario.update(maxConcurrentStreams: 1)
        scenario.pass(.seconds(5))
        #expect(scenario.underWay == 2)
    }

    // MARK: The earned window

    private func windows(_ scenario: Scenario) -> [Int] {
        scenario.events.compactMap { if case .windowAdjusted(let size) = $0 { size } else { nil } }
    }

    @Test func `a new provider begins with 100 requests and doubles that with each window of answers`() {
        let scenario = Scenario()
        scenario.settings.maxConcurrentStreams = 1000
        scenario.submit(1...1200)
        scenario.connect()
        #expect(scenario.underWay == 100)
        scenario.answerFirst(100)
        #expect(scenario.underWay == 200)
        scenario.answerFirst(200)
        #expect(scenario.underWay == 400)
        scenario.answerFirst(400)
        #expect(scenario.underWay == 500)
    }

    @Test(arguments: [ConnectionEnd.endOfStream, .lost(ProviderError(.connectionLost, "reset"))])
    func `a connection that ends with requests under way lets the next have fewer`(end: ConnectionEnd) {
        let scenario = Scenario()
        scenario.submit(1...300)
        scenario.connect()
        scenario.answerFirst(64)
        scenario.end(nil, end)
        #expect(scenario.client.outcomes.counts.uncertain == 100)
        #expect(self.windows(scenario).last == 4)
        scenario.connect()
        #expect(scenario.underWay == 4)
        // Answers earn a larger window.
        scenario.answerFirst(100)
        #expect(scenario.underWay == 6)
    }

    @Test func `a silent connection lets the next have fewer`() {
        let scenario = Scenario()
        scenario.submit(1...300)
        scenario.connect()
        scenario.answerFirst(64)
        scenario.pass(.seconds(11))
        #expect(scenario.client.outcomes.counts.uncertain == 100)
        scenario.connect()
        #expect(scenario.underWay == 4)
    }

    @Test func `requests that are reset together narrow the window, and single ones do not`() {
        let scenario = Scenario()
        scenario.submit(1...300)
        scenario.connect()
        for name in 1...32 as ClosedRange<UInt32> {
            scenario.answer(name)
            if name % 8 == 0 { scenario.reset(name + 50, 2) }
            scenario.pass(.milliseconds(50))
        }
        #expect(scenario.underWay == 100)
        for request in scenario.requests.prefix(50) { scenario.reset(request.name, 2) }
        #expect(self.windows(scenario).last == 2)
    }

    @Test func `a GOAWAY that excludes requests lets the next connection have half of what was answered`() {
        let scenario = Scenario()
        scenario.submit(1...300)
        let first = scenario.connect()
        scenario.answerFirst(30)
        // In the end 40 requests are answered: stream 79 is the fortieth.
        scenario.goAway(lastStreamID: 79)
        scenario.connect()
        #expect(scenario.links[scenario.current].map { _ in scenario.underWay } == 10 + 20)
        #expect(scenario.finished.isEmpty || scenario.finished == [first])
    }

    @Test func `a GOAWAY that promises answers which do not come is held to what came`() {
        let scenario = Scenario { $0.connectionRetryLimit = nil }
        scenario.submit(1...300)
        let first = scenario.connect()
        scenario.answerFirst(20)
        scenario.goAway(lastStreamID: 199)
        scenario.end(first)
        scenario.connect()
        #expect(scenario.underWay <= 6)
    }

    @Test func `ends that cost nothing narrow nothing`() {
        let scenario = Scenario()
        for round in 0..<5 as Range<UInt32> {
            scenario.submit(round * 10 + 1...round * 10 + 10)
            scenario.connect()
            scenario.answerAll()
            if round % 2 == 0 { scenario.goAway() }
            scenario.end()
        }
        scenario.submit(1000...1300)
        scenario.connect()
        #expect(scenario.underWay == 100)
        #expect(!self.windows(scenario).contains { $0 < 100 && $0 > 1 })
    }

    @Test func `one blip on a long-lived connection narrows nothing`() {
        let scenario = Scenario { $0.maxStreams = 10 }
        scenario.submit(1...400)
        scenario.connect()
        scenario.answerFirst(200)
        scenario.end()
        scenario.connect()
        #expect(scenario.underWay == 10)
    }
}
