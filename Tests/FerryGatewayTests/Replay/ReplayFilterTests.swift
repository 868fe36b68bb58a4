import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct ReplayFilterTests {
    @Test func `followers that a client comes to late, because it hears of one error after the other, are copies`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 10..<200)
        #expect(scenario.pushAll(10..<130, on: 2) == 0)
        _ = scenario.tell(2, 11..<130)
        for step in 0..<60 as Range<UInt64> {
            scenario.wait(.milliseconds(500))
            #expect(scenario.pushAll((11 + step)..<(27 + step), on: 3 + step) == 0)
            _ = scenario.tell(3 + step, (12 + step)..<(27 + step))
        }
        #expect(scenario.pushAll(72..<200, on: 100) == 0)
    }

    @Test func `followers that nothing reminds of are forgotten after 20 s`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 10..<200)
        #expect(scenario.pushAll(10..<130, on: 2) == 0)
        // An error among new notifications.
        for step in 0..<11 as Range<UInt64> {
            scenario.wait(.seconds(2))
            _ = scenario.tell(3 + step, (1000 + 10 * step)..<(1008 + 10 * step))
            #expect(scenario.pushAll((1000 + 10 * step)..<(1008 + 10 * step), on: 50 + step) == 0)
        }
        #expect(scenario.pushAll(130..<200, on: 100) == 70)
    }

    @Test func `a copy joins the job of its follower, once`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10, 11])
        #expect(scenario.push(10, on: 2) == .join(JobID(rawValue: 1), .running))
        #expect(scenario.push(10, on: 2) == .forward)
        #expect(scenario.push(11, on: 2) == .join(JobID(rawValue: 2), .running))
        #expect(scenario.filter.entryCount == 0)
    }

    @Test func `a copy of a settled follower gets its verdict`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10, 11])
        #expect(scenario.settle(1, .rejected(.invalidToken)))
        #expect(!scenario.settle(9, .accepted))
        #expect(scenario.push(10, on: 2) == .join(JobID(rawValue: 1), .rejected(.invalidToken)))
        #expect(scenario.takeUntold().isEmpty)
    }

    @Test func `while it drains, a connection that was told sends copies under their old identifiers`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<14, drains: true)
        scenario.settle(2, .rejected(.invalidToken))
        // One was on its way when the client read the error response.
        #expect(scenario.push(14, on: 1, draining: episode, identifier: 14) == .forward)
        for name in 10..<15 as Range<UInt64> {
            let copy = scenario.push(name, on: 1, draining: episode, identifier: UInt32(name))
            #expect(copy == .join(JobID(rawValue: name - 9), name == 11 ? .rejected(.invalidToken) : .running))
        }
        // No copy of the rejected one comes any more.
        #expect(scenario.takeUntold() == [JobID(rawValue: 2)])
        scenario.drained(episode)
        #expect(scenario.isProven)
        #expect(scenario.push(10, on: 1, identifier: 10) == .forward)
    }

    @Test func `a repeat on a connection that was told has an identifier of its own, and is forwarded`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, [10], drains: true)
        #expect(scenario.push(10, on: 1, draining: episode, identifier: 99) == .forward)
        #expect(scenario.push(10, on: 1, draining: episode) == .forward)
    }

    @Test func `a connection that was told sends no other copies, and its repeats are forwarded`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, [10], drains: true)
        #expect(scenario.push(10, on: 1, draining: episode) == .forward)
        scenario.drained(episode)
        #expect(scenario.push(10, on: 1) == .forward)
        #expect(scenario.pushAll([10, 10, 10], on: 2) == 1)
    }

    // MARK: Drains

    @Test func `a drained copy consumes its match and is an entry of the new episode`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10])
        let second = scenario.tell(2, [], drains: true)
        #expect(scenario.push(10, on: 2, draining: second) == .join(JobID(rawValue: 1), .running))
        scenario.drained(second)
        #expect(scenario.push(10, on: 3) == .join(JobID(rawValue: 1), .running))
        #expect(scenario.push(10, on: 3) == .forward)
    }

    @Test func `a drained notification joins the copy that overtook it, whose own copy comes later`() {
        let scenario = FilterScenario()
        let first = scenario.tell(1, [], drains: true)
        #expect(scenario.push(10, on: 2) == .forward)
        #expect(scenario.push(10, on: 1, draining: first) == .overtaken(JobID(rawValue: 1)))
        scenario.drained(first)
        #expect(scenario.push(10, on: 3) == .forward)
    }

    @Test func `notifications that were read before the six bytes overtake no others`() {
        let scenario = FilterScenario()
        _ = scenario.tell(9, [], drains: true)
        #expect(scenario.push(10, on: 2) == .forward)
        let first = scenario.tell(1, [], drains: true)
        #expect(scenario.push(10, on: 1, draining: first) == .forward)
    }

    @Test func `a copy that takes the entry of one that still drains is found by that one`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10])
        // The client was told on 2 before its copy there had arrived, and the copy on 3 is faster.
        let second = scenario.tell(2, [], drains: true)
        #expect(scenario.push(10, on: 3) == .join(JobID(rawValue: 1), .running))
        #expect(scenario.push(10, on: 2, draining: second) == .overtaken(JobID(rawValue: 1)))
    }

    @Test func `a drained notification that was overtaken is found by one that drains longer`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10])
        let second = scenario.tell(2, [], drains: true)
        let third = scenario.tell(3, [], drains: true)
        #expect(scenario.push(10, on: 4) == .join(JobID(rawValue: 1), .running))
        #expect(scenario.push(10, on: 2, draining: second) == .overtaken(JobID(rawValue: 1)))
        #expect(scenario.push(10, on: 3, draining: third) == .overtaken(JobID(rawValue: 1)))
    }

    @Test func `a copy that drains leaves those before its drain to the others`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10])
        let second = scenario.tell(2, [], drains: true)
        #expect(scenario.push(10, on: 3) == .join(JobID(rawValue: 1), .running))
        _ = scenario.tell(3, [10])
        let fourth = scenario.tell(4, [], drains: true)
        // The copy on 4 has its entry from 3, and the one on 5 from 4. The one on 3 is still there for 2.
        #expect(scenario.push(10, on: 4, draining: fourth) == .join(JobID(rawValue: 3), .running))
        #expect(scenario.push(10, on: 5) == .join(JobID(rawValue: 3), .running))
        #expect(scenario.push(10, on: 2, draining: second) == .overtaken(JobID(rawValue: 1)))
    }

    @Test func `a single repeat behind other notifications is delivered, a row of copies is not`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 10..<20)
        scenario.wait(.milliseconds(1))
        #expect(scenario.pushAll(50..<52, on: 2) == 2)
        #expect(scenario.push(12, on: 2) == .join(JobID(rawValue: 3), .running))
        #expect(scenario.pushAll(52..<55, on: 2) == 3)
        #expect(scenario.push(13, on: 2) == .forward)
        #expect(scenario.push(55, on: 2) == .forward)
        // The first of a row is forwarded, too.
        #expect(scenario.push(14, on: 2) == .forward)
        #expect(scenario.push(15, on: 2) == .join(JobID(rawValue: 6), .running))
    }

    @Test func `right after an error response, connections that were open may carry copies behind other notifications`()
    {
        let scenario = FilterScenario()
        let old = scenario.now
        scenario.wait(.seconds(1))
        _ = scenario.tell(1, 10..<20)
        for name in 50..<60 as Range<UInt64> { #expect(scenario.push(name, on: 2, openedAt: old) == .forward) }
        #expect(scenario.push(10, on: 2, openedAt: old) == .join(JobID(rawValue: 1), .running))
        scenario.wait(.seconds(3))
        for name in 60..<70 as Range<UInt64> { #expect(scenario.push(name, on: 2, openedAt: old) == .forward) }
        #expect(scenario.push(11, on: 2, openedAt: old) == .forward)
    }

    @Test func `copies that overtook a drain do not make the next ones doubtful`() {
        let scenario = FilterScenario()
        let first = scenario.tell(1, 10..<20, drains: true)
        scenario.wait(.milliseconds(1))
        // The client sends everything again, and the drain has not brought the last ones yet.
        #expect(scenario.pushAll(20..<30, on: 2) == 10)
        for name in 20..<30 as Range<UInt64> { scenario.push(name, on: 1, draining: first) }
        scenario.push(30, on: 1, draining: first)
        scenario.drained(first)
        #expect(scenario.pushAll([30], on: 2) == 0)
    }

    @Test func `the doubt of one connection does not reach another`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 10..<20)
        scenario.wait(.milliseconds(1))
        #expect(scenario.pushAll(50..<53, on: 2) == 3)
        #expect(scenario.pushAll(60..<63, on: 3) == 3)
        #expect(scenario.push(10, on: 2) == .forward)
        #expect(scenario.push(11, on: 3) == .forward)
        #expect(scenario.push(12, on: 2) == .join(JobID(rawValue: 3), .running))
        #expect(scenario.push(13, on: 3) == .join(JobID(rawValue: 4), .running))
    }

    @Test func `a doubted copy proves nothing until the next one confirms it`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10])
        scenario.wait(.milliseconds(1))
        #expect(scenario.pushAll(50..<53, on: 2) == 3)
        #expect(scenario.push(10, on: 2) == .forward)
        scenario.wait(.seconds(61))
        #expect(scenario.filter.replayClass == .unknown)
        _ = scenario.tell(3, [20, 21])
        scenario.wait(.milliseconds(1))
        #expect(scenario.pushAll(60..<63, on: 4) == 3)
        #expect(scenario.push(20, on: 4) == .forward)
        guard case .join = scenario.push(21, on: 4) else {
            Issue.record("The second of a row is no doubt any more.")
            return
        }
        #expect(scenario.isProven)
    }

    @Test func `a rejected follower whose copy is doubted is deferred`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 10..<20)
        scenario.settle(3, .rejected(.invalidToken))
        scenario.wait(.milliseconds(1))
        #expect(scenario.pushAll(50..<53, on: 2) == 3)
        #expect(scenario.push(12, on: 2) == .forward)
        #expect(scenario.takeUntold() == [JobID(rawValue: 3)])
    }

    @Test func `the newest episode is matched first`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10])
        _ = scenario.tell(2, [10])
        #expect(scenario.push(10, on: 3) == .join(JobID(rawValue: 2), .running))
        #expect(scenario.push(10, on: 3) == .join(JobID(rawValue: 1), .running))
    }

    @Test(arguments: [1, 12, 500] as [UInt64])
    func `a client that sends the last followers first is swallowed whole`(count: UInt64) {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<2000)
        #expect(scenario.pushAll((2000 - count)..<2000, on: 2) == 0)
        #expect(scenario.pushAll(0..<(2000 - count), on: 2) == 0)
    }

    @Test func `three matches drop what a small cache has lost, after 2 s without a copy`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<1000)
        #expect(scenario.pushAll(900..<903, on: 2) == 0)
        for name in 0..<2 as Range<UInt64> {
            scenario.wait(.milliseconds(1900))
            #expect(scenario.pushAll([name], on: 3) == 0)
        }
        scenario.wait(.milliseconds(2200))
        #expect(scenario.pushAll([2], on: 3) == 1)
        #expect(scenario.pushAll(903..<1000, on: 3) == 0)
    }

    @Test func `copies for another episode put the removal off, for 20 s at most`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<1000)
        #expect(scenario.pushAll(900..<903, on: 2) == 0)
        _ = scenario.tell(2, 2000..<2100)
        for name in 2000..<2019 as Range<UInt64> {
            scenario.wait(.seconds(1))
            #expect(scenario.push(name, on: 3) != .forward)
        }
        #expect(scenario.pushAll([0], on: 3) == 0)
        scenario.wait(.milliseconds(1200))
        #expect(scenario.pushAll([1], on: 3) == 1)
    }

    @Test func `two matches drop nothing`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<1000)
        #expect(scenario.pushAll([998, 999, 0, 1], on: 2) == 0)
    }

    @Test func `an episode ends 60 s after its drain without a match, and 20 s after its last match`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10])
        scenario.wait(.seconds(59))
        #expect(scenario.push(10, on: 2) == .join(JobID(rawValue: 1), .running))

        _ = scenario.tell(2, [20, 21, 22])
        scenario.wait(.seconds(59))
        #expect(scenario.pushAll([20], on: 3) == 0)
        scenario.wait(.seconds(19))
        #expect(scenario.pushAll([21], on: 3) == 0)
        scenario.wait(.seconds(21))
        #expect(scenario.pushAll([22], on: 3) == 1)
    }

    @Test func `a proven client may send again after minutes, an unknown one may not`() {
        let unknown = FilterScenario()
        _ = unknown.tell(1, [10])
        unknown.wait(.seconds(61))
        #expect(unknown.push(10, on: 2) == .forward)

        let proven = FilterScenario(.resends(Reach()))
        _ = proven.tell(1, [10])
        proven.wait(.minutes(9))
        #expect(proven.push(10, on: 2) == .join(JobID(rawValue: 1), .running))
    }

    @Test func `a follower that no copy tells is deferred when its episode ends`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, [10, 11])
        scenario.settle(1, .rejected(.invalidToken))
        scenario.wait(.seconds(61))
        #expect(scenario.takeUntold() == [JobID(rawValue: 1)])
        let ended = scenario.takeEnded()
        #expect(ended.map(\.episode) == [episode])
        #expect(ended.map(\.isUnheard) == [true])
        // Nobody waits for the other any more, so its owner defers a rejection itself.
        #expect(!scenario.settle(2, .rejected(.invalidToken)))
    }

    // MARK: Classes

    @Test func `half of the last followers prove a client that re-sends, with its reach`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<200)
        #expect(scenario.pushAll(100..<200, on: 2) == 0)
        #expect(scenario.isProven)
        scenario.wait(.seconds(21))
        #expect(scenario.filter.replayClass == .resends(Reach(proven: 100, limit: 100)))
    }

    @Test func `one lost copy does not make the reach smaller than the smallest cache`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [1, 2])
        #expect(scenario.pushAll([2], on: 2) == 0)
        scenario.wait(.seconds(21))
        #expect(scenario.filter.replayClass == .resends(Reach(proven: 1, limit: GatewayBounds.smallestCache)))
    }

    @Test func `two episodes without a copy switch the filter off`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<4)
        scenario.wait(.seconds(61))
        #expect(scenario.filter.replayClass == .unknown)
        _ = scenario.tell(2, 4..<8)
        _ = scenario.tell(3, 8..<12)
        scenario.wait(.seconds(61))
        #expect(scenario.filter.replayClass == .never)
        #expect(scenario.filter.entryCount == 0)
        #expect(scenario.push(9, on: 4) == .forward)
    }

    @Test func `one accidental match of four clears nobody, and empty episodes prove nothing`() {
        let scenario = FilterScenario()
        for connection: UInt64 in 1...2 {
            _ = scenario.tell(connection, [])
            _ = scenario.tell(connection, [1, 2, 3, 4])
            #expect(scenario.pushAll([4], on: 9) == 0)
            scenario.wait(.seconds(61))
        }
        #expect(scenario.filter.replayClass == .never)

        let quiet = FilterScenario()
        for connection: UInt64 in 1...9 {
            _ = quiet.tell(connection, [])
            #expect(quiet.takeEnded().map(\.isUnheard) == [false])
        }
        #expect(quiet.filter.replayClass == .unknown)
    }

    @Test func `a status 10 and a crash prove nothing`() {
        let scenario = FilterScenario()
        for connection: UInt64 in 1...9 {
            _ = scenario.tell(connection, [1, 2, 3, 4], kind: connection % 2 == 0 ? .crash : .shutdown)
            scenario.wait(.seconds(61))
        }
        #expect(scenario.filter.replayClass == .unknown)
    }

    @Test func `evidence does not change a configured class`() {
        let scenario = FilterScenario(.resends(Reach()), isConfigured: true)
        for connection: UInt64 in 1...9 {
            _ = scenario.tell(connection, [1, 2, 3, 4])
            scenario.wait(.minutes(11))
        }
        #expect(scenario.isProven)
        let never = FilterScenario(.never, isConfigured: true)
        _ = never.tell(1, [1])
        #expect(never.push(1, on: 2) == .forward)
    }

    @Test func `after a crash only the first notifications of a new connection are matched`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, [10, 11], kind: .crash)
        #expect(scenario.push(10, on: 2) == .forward)
        #expect(scenario.push(10, on: 2, isOpening: true) == .join(JobID(rawValue: 1), .running))
    }

    // MARK: Constants

    @Test func `constants are evidence until the client is proven, and then match for 20 s`() {
        let scenario = FilterScenario()
        _ = scenario.tell(1, 0..<4, isConstant: true)
        #expect(scenario.pushAll(0..<4, on: 2, isConstant: true) == 4 - 2)
        #expect(scenario.isProven)
        _ = scenario.tell(2, 0..<4, isConstant: true)
        #expect(scenario.pushAll(0..<2, on: 3, isConstant: true) == 0)
        scenario.wait(.seconds(21))
        #expect(scenario.pushAll(2..<4, on: 3, isConstant: true) == 2)
    }

    // MARK: Bounds

    @Test func `copies above three times the new notifications are too many for 10 s`() {
        let scenario = FilterScenario()
        #expect(scenario.pushAll(0..<10, on: 1) == 10)
        for connection: UInt64 in 1...3 {
            _ = scenario.tell(connection, 0..<10)
            #expect(scenario.pushAll(0..<10, on: connection + 1) == 0)
        }
        #expect(!scenario.filter.standing(now: scenario.now).isAmplified)
        _ = scenario.tell(4, [1])
        #expect(scenario.pushAll([1], on: 5) == 0)
        #expect(scenario.filter.standing(now: scenario.now).isAmplified)
        scenario.wait(.seconds(11))
        #expect(!scenario.filter.standing(now: scenario.now).isAmplified)
    }

    @Test func `the oldest episode of a scope makes room`() {
        let scenario = FilterScenario(.resends(Reach()))
        for connection in 0..<UInt64(GatewayBounds.episodesPerScope) + 1 { _ = scenario.tell(connection, [connection]) }
        #expect(scenario.push(0, on: 999) == .forward)
        #expect(scenario.push(1, on: 999) == .join(JobID(rawValue: 2), .running))
        #expect(scenario.filter.evictedCount == 1)
    }

    @Test func `one host has one scope, whatever its address within the network`() {
        let host: [UInt8] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9]
        var neighbour = host
        neighbour[15] = 1
        #expect(ReplayScope(identity: 1, address: host) == ReplayScope(identity: 1, address: neighbour))
        #expect(ReplayScope(identity: 1, address: host) != ReplayScope(identity: 2, address: host))
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1]
        #expect(ReplayScope(identity: 1, address: mapped) == ReplayScope(identity: 1, address: [10, 0, 0, 1]))
        #expect(ReplayScope(identity: 1, address: mapped) != ReplayScope(identity: 1, address: []))
    }
}
