import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// Clients that send their followers in circles on the connection that was told, until they see its end.
@Suite struct CircleTests {
    @Test func `a row of the first followers on the connection that was told is a circle`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<15, named: 9, drains: true)
        var identifier: UInt32 = 100
        var forwarded: [UInt64] = []
        for _ in 0..<3 {
            for name in 10..<15 as Range<UInt64> {
                identifier += 1
                let admission = scenario.push(name, on: 1, draining: episode, identifier: identifier)
                if admission == .forward { forwarded.append(name) } else { #expect(admission == .circle) }
            }
        }
        #expect(forwarded == [10, 11])
        scenario.drained(episode)
        #expect(scenario.pushAll(10..<15, on: 2) == 0)
    }

    @Test func `frames like those of Pushy circle from the first copy on`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<13, named: 9, drains: true)
        // It was on its way when the client read the error response.
        #expect(scenario.push(13, on: 1, draining: episode, identifier: 13, resemblesPushy: true) == .forward)
        for (offset, name) in ([10, 11, 12, 13, 10, 10] as [UInt64]).enumerated() {
            let identifier = UInt32(100 + offset)
            let copy = scenario.push(name, on: 1, draining: episode, identifier: identifier, resemblesPushy: true)
            #expect(copy == .circle)
        }
        scenario.drained(episode)
        // The last ones come behind new notifications.
        #expect(scenario.pushAll([20, 10, 21, 22, 23, 11, 24, 25, 26, 12, 13], on: 2) == 7)
        #expect(scenario.isProven)
    }

    @Test func `copies on another connection show a circle, which may come behind them`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<16, drains: true)
        #expect(scenario.pushAll(10..<13, on: 2) == 0)
        #expect(scenario.push(14, on: 1, draining: episode, identifier: 100) == .circle)
        // It was written before the one on 2, and read later.
        #expect(scenario.push(12, on: 1, draining: episode, identifier: 101) == .circle)
        #expect(scenario.pushAll(13..<16, on: 2) == 0)
    }

    @Test func `a circle may lead through several connections that were told`() {
        let scenario = FilterScenario()
        let first = scenario.tell(1, 10..<14, drains: true)
        let second = scenario.tell(2, [20], drains: true)
        #expect(scenario.pushAll(10..<13, on: 3) == 0)
        #expect(scenario.push(13, on: 1, draining: first, identifier: 100) == .circle)
        #expect(scenario.push(20, on: 2, draining: second, identifier: 200) == .circle)
        for identifier in 201..<204 as Range<UInt32> {
            #expect(scenario.push(13, on: 2, draining: second, identifier: identifier) == .circle)
        }
        #expect(scenario.pushAll([13, 20], on: 3) == 0)
    }

    @Test func `copies that were sent in circles may come after the drain, and end with the episode`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<14, drains: true)
        #expect(scenario.pushAll(10..<13, on: 2) == 0)
        #expect(scenario.push(10, on: 1, draining: episode, identifier: 100) == .circle)
        #expect(scenario.pushAll([13], on: 2) == 0)
        scenario.drained(episode)
        scenario.wait(.seconds(5))
        #expect(scenario.push(10, on: 1, draining: episode, identifier: 101) == .circle)
        scenario.wait(.seconds(16))
        #expect(scenario.push(10, on: 1, draining: episode, identifier: 102) == .forward)
        #expect(scenario.filter.oldestEpisode == nil)
    }

    @Test func `followers that come last are known as long as copies come, twins too`() {
        let scenario = FilterScenario()
        let names = Array(10..<60) + [10] + Array(61..<210) as [UInt64]
        let episode = scenario.tell(1, names, named: 9, drains: true)
        for name in 10..<13 as Range<UInt64> {
            let identifier = UInt32(200 + name)
            let copy = scenario.push(name, on: 1, draining: episode, identifier: identifier, resemblesPushy: true)
            #expect(copy == .circle)
        }
        scenario.drained(episode)
        scenario.close(1)
        // 13 could not be written.
        for name in names[4...] {
            #expect(scenario.push(name, on: 2) != .forward, "\(name)")
            scenario.wait(.milliseconds(50))
        }
        #expect(scenario.pushAll([10, 11, 12, 13], on: 2) == 0)
    }

    @Test func `behind the drain, a client that sends nothing elsewhere repeats itself`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<14, named: 9, drains: true)
        for (offset, name) in (10..<13 as Range<UInt64>).enumerated() {
            _ = scenario.push(name, on: 1, draining: episode, identifier: UInt32(100 + offset))
        }
        #expect(scenario.push(13, on: 1, draining: episode, identifier: 103) == .circle)
        scenario.drained(episode)
        #expect(scenario.push(13, on: 1, draining: episode, identifier: 104) == .forward)
    }

    @Test func `before the client can have read the error response, it repeats itself`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<14, named: 9, drains: true)
        for name in 10..<13 as Range<UInt64> {
            let identifier = UInt32(90 + name)
            #expect(
                scenario.push(name, on: 1, draining: episode, mayHaveHeard: false, identifier: identifier) == .forward
            )
        }
        // The row goes on.
        #expect(scenario.push(13, on: 1, draining: episode, identifier: 103) == .circle)
    }

    @Test func `constants circle if the client is known to send again`() {
        let scenario = FilterScenario(.resends(Reach()))
        let episode = scenario.tell(1, [10], isConstant: true, drains: true)
        for identifier in 100..<103 as Range<UInt32> {
            let copy = scenario.push(
                10,
                on: 1,
                draining: episode,
                isConstant: true,
                identifier: identifier,
                resemblesPushy: true
            )
            #expect(copy == .circle)
        }
        #expect(scenario.push(10, on: 2, isConstant: true) == .join(JobID(rawValue: 1), .running))
    }

    @Test func `a circle of several connections begins with any follower, if the client is known to send again`() {
        let scenario = FilterScenario(.resends(Reach()))
        let episode = scenario.tell(1, 10..<14, named: 9, drains: true)
        #expect(scenario.push(12, on: 1, draining: episode, identifier: 100, resemblesPushy: true) == .circle)
    }

    @Test func `one copy elsewhere shows no circle`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<14, drains: true)
        #expect(scenario.pushAll([10], on: 2) == 0)
        #expect(scenario.push(12, on: 1, draining: episode, identifier: 100) == .forward)
    }

    @Test func `a list that is repeated on the connection that was told is no circle`() {
        let scenario = FilterScenario()
        // The refused one is 9.
        let episode = scenario.tell(1, 10..<14, named: 9, drains: true)
        for identifier in 100..<115 as Range<UInt32> {
            let name = UInt64(9 + (identifier - 100) % 5)
            #expect(scenario.push(name, on: 1, draining: episode, identifier: identifier) == .forward)
        }
    }

    @Test func `a list of a client with frames like those of Pushy is no circle either`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<18, named: 9, drains: true)
        for (offset, name) in (9..<18 as Range<UInt64>).enumerated() {
            let identifier = UInt32(100 + offset)
            let copy = scenario.push(name, on: 1, draining: episode, identifier: identifier, resemblesPushy: true)
            #expect(copy == .forward, "\(name)")
        }
    }

    @Test func `two repeats on the only connection are no circle, unless the first of them is the first follower`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<18, named: 9, drains: true)
        for (offset, name) in ([12, 16] as [UInt64]).enumerated() {
            let identifier = UInt32(100 + offset)
            let copy = scenario.push(name, on: 1, draining: episode, identifier: identifier, resemblesPushy: true)
            #expect(copy == .forward, "\(name)")
        }
    }

    @Test func `a message that is sent again and again is no circle`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, [10, 11], drains: true)
        for identifier in 100..<120 as Range<UInt32> {
            let name = UInt64(10 + identifier % 2)
            #expect(scenario.push(name, on: 1, draining: episode, identifier: identifier) == .forward)
        }
    }

    @Test func `a client that repeats each push on purpose does not circle`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, [10], drains: true)
        for (offset, name) in ([10, 11, 11, 12, 12, 13, 13] as [UInt64]).enumerated() {
            let admission = scenario.push(name, on: 1, draining: episode, identifier: UInt32(100 + offset))
            #expect(admission == .forward)
        }
    }

    @Test func `the first of a circle may be one of the first four, because the others go round elsewhere`() {
        for name in 10..<15 as Range<UInt64> {
            let scenario = FilterScenario()
            let episode = scenario.tell(1, 10..<20, named: 9, drains: true)
            _ = scenario.tell(2, 30..<40, named: 29, drains: true)
            let first = scenario.push(name, on: 1, draining: episode, identifier: 100, resemblesPushy: true)
            #expect((first == .circle) == (name < 14), "\(name)")
            // It comes on another connection, too.
            #expect(scenario.push(name, on: 3) != .forward)
            // The next ones come in any order, and from the other connection.
            for next in [18, 30, 11] as [UInt64] where first == .circle {
                let copy = scenario.push(next, on: 1, draining: episode, identifier: 200, resemblesPushy: true)
                #expect(copy != .forward, "\(next)")
            }
        }
    }

    @Test func `frames of another form begin a circle with the first follower alone`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<20, named: 9, drains: true)
        for (offset, name) in (11..<16 as Range<UInt64>).enumerated() {
            let identifier = UInt32(100 + offset)
            #expect(scenario.push(name, on: 1, draining: episode, identifier: identifier) == .forward)
        }
    }
}
