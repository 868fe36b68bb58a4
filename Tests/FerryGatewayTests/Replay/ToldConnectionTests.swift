import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// Copies on the connection that was told, behind its drain: the client hears the error response late.
@Suite struct ToldConnectionTests {
    /// A connection that was told, and whose drain is over.
    private static func told(
        _ scenario: FilterScenario,
        _ names: Range<UInt64>,
        on connection: UInt64 = 1
    ) -> EpisodeID {
        let episode = scenario.tell(connection, names, named: 9, drains: true)
        scenario.wait(.seconds(1))
        scenario.drained(episode)
        return episode
    }

    // MARK: In place

    @Test(arguments: [0, 500, 9000, 28_000] as [Int64])
    func `copies under their old identifiers are known until the connection is 30 s old`(late: Int64) {
        let scenario = FilterScenario()
        let episode = Self.told(scenario, 10..<1010)
        scenario.wait(.milliseconds(late))
        for name in 10..<1010 as Range<UInt64> {
            #expect(scenario.push(name, on: 1, draining: episode, identifier: UInt32(name)) != .forward)
        }
        scenario.close(1)
        #expect(scenario.filter.entryCount == 0)
        #expect(scenario.isProven)
    }

    @Test func `copies under their old identifiers are new after 30 s`() {
        let scenario = FilterScenario()
        let episode = Self.told(scenario, 10..<20)
        scenario.wait(.seconds(29))
        #expect(scenario.push(10, on: 1, draining: episode, identifier: 10) == .forward)
    }

    @Test func `a few copies under their old identifiers may have expired`() {
        let scenario = FilterScenario()
        let episode = Self.told(scenario, 10..<30)
        for name in [13, 14, 18] as [UInt64] {
            #expect(scenario.push(name, on: 1, draining: episode, identifier: UInt32(name)) != .forward)
        }
        #expect(scenario.push(23, on: 1, draining: episode, identifier: 23) == .forward)
    }

    @Test func `identifiers that name users make no copies out of order`() {
        let scenario = FilterScenario()
        let episode = Self.told(scenario, 10..<100)
        for name in [50, 20, 51, 90, 14, 30, 52] as [UInt64] {
            #expect(scenario.push(name, on: 1, draining: episode, identifier: UInt32(name)) == .forward)
        }
    }

    @Test func `a row that began during the drain goes on after it`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<20, named: 9, drains: true)
        for name in 10..<15 as Range<UInt64> {
            scenario.push(name, on: 1, draining: episode, identifier: UInt32(name))
        }
        scenario.drained(episode)
        for name in 15..<20 as Range<UInt64> {
            #expect(scenario.push(name, on: 1, draining: episode, identifier: UInt32(name)) != .forward)
        }
    }

    @Test func `a cache that keeps the first ones and the very last leaves out all between`() {
        let scenario = FilterScenario()
        let episode = Self.told(scenario, 10..<1010)
        for name in [10, 11, 12, 1009] as [UInt64] {
            #expect(scenario.push(name, on: 1, draining: episode, identifier: UInt32(name)) != .forward, "\(name)")
        }
    }

    @Test func `only a row of copies shows such a cache, and its last one follows at once`() {
        let rows: [[UInt64]] = [[1009], [10, 1009], [10, 11, 1009], [10, 11, 12, 2000, 1009], [10, 11, 12, 1008]]
        for row in rows {
            let scenario = FilterScenario()
            let episode = Self.told(scenario, 10..<1010)
            for name in row.dropLast() {
                _ = scenario.push(name, on: 1, draining: episode, identifier: UInt32(name))
            }
            let last = row.last ?? 0
            let admission = scenario.push(last, on: 1, draining: episode, identifier: UInt32(last))
            #expect(admission == .forward, "\(row)")
        }
    }

    @Test func `a row that began during the drain shows such a cache, too`() {
        let scenario = FilterScenario()
        let episode = scenario.tell(1, 10..<1010, named: 9, drains: true)
        for name in 10..<12 as Range<UInt64> {
            scenario.push(name, on: 1, draining: episode, identifier: UInt32(name))
        }
        scenario.drained(episode)
        for name in [12, 1009] as [UInt64] {
            #expect(scenario.push(name, on: 1, draining: episode, identifier: UInt32(name)) != .forward, "\(name)")
        }
    }

    // MARK: In circles

    @Test func `frames like those of Pushy circle from the second copy on`() {
        let scenario = FilterScenario()
        let episode = Self.told(scenario, 10..<1010)
        scenario.wait(.seconds(9))
        var forwarded = 0
        var identifier: UInt32 = 2000
        for _ in 0..<3 {
            for name in 10..<1010 as Range<UInt64> {
                identifier += 1
                let admission = scenario.push(
                    name,
                    on: 1,
                    draining: episode,
                    identifier: identifier,
                    resemblesPushy: true
                )
                if admission == .forward { forwarded += 1 }
            }
        }
        #expect(forwarded == 1)
        // They come once more elsewhere.
        #expect(scenario.pushAll(10..<1010, on: 2) == 0)
    }

    @Test func `clients with other frames do not circle, and repeat a list on purpose`() {
        let scenario = FilterScenario()
        let episode = Self.told(scenario, 10..<70)
        scenario.wait(.seconds(3))
        for name in 10..<70 as Range<UInt64> {
            #expect(scenario.push(name, on: 1, draining: episode, identifier: UInt32(100 + name)) == .forward)
        }
    }

    @Test func `single repeats in frames like those of Pushy are delivered`() {
        let scenario = FilterScenario()
        let episode = Self.told(scenario, 10..<110)
        // Not among the first ones, not in order, too far apart, or with something new between.
        for name in [50, 51, 52, 12, 11, 10, 15, 10, 200, 11, 10, 10] as [UInt64] {
            let admission = scenario.push(
                name,
                on: 1,
                draining: episode,
                identifier: UInt32(1000 + name),
                resemblesPushy: true
            )
            #expect(admission == .forward, "\(name)")
        }
    }

    @Test func `a client that is known to send again circles from the first one on`() {
        let scenario = FilterScenario(.resends(Reach()))
        let episode = Self.told(scenario, 10..<110)
        let admission = scenario.push(50, on: 1, draining: episode, identifier: 1000, resemblesPushy: true)
        #expect(admission == .circle)
    }

    @Test func `followers of other connections may stand in a circle`() {
        let scenario = FilterScenario()
        let first = Self.told(scenario, 10..<20)
        _ = Self.told(scenario, 30..<40, on: 2)
        var circled: [UInt64] = []
        for (offset, name) in ([10, 30, 31, 32, 11, 33, 12] as [UInt64]).enumerated() {
            let identifier = UInt32(1000 + offset)
            let admission = scenario.push(name, on: 1, draining: first, identifier: identifier, resemblesPushy: true)
            if admission == .circle { circled.append(name) }
        }
        #expect(circled == [11, 12])
    }

    // MARK: The end of an episode

    @Test func `when all copies came elsewhere, a circle may still be on its way`() {
        let scenario = FilterScenario()
        let episode = Self.told(scenario, 10..<20)
        #expect(scenario.pushAll(10..<20, on: 2) == 0)
        scenario.wait(.seconds(8))
        var forwarded = 0
        for name in 10..<20 as Range<UInt64> {
            let identifier = UInt32(1000 + name)
            let admission = scenario.push(name, on: 1, draining: episode, identifier: identifier, resemblesPushy: true)
            if admission == .forward { forwarded += 1 }
        }
        #expect(forwarded == 0)
    }

    @Test func `an episode whose copies have all come ends with its connection, or after 30 s`() {
        for closes in [true, false] {
            let scenario = FilterScenario(.resends(Reach()))
            let episode = Self.told(scenario, 10..<20)
            #expect(scenario.pushAll(10..<20, on: 2) == 0)
            #expect(scenario.filter.oldestEpisode != nil)
            if closes {
                scenario.close(1)
            } else {
                for name in 0..<2 as Range<UInt64> {
                    scenario.wait(.seconds(14))
                    #expect(scenario.filter.oldestEpisode != nil || name > 0)
                }
                scenario.wait(.seconds(1))
            }
            #expect(scenario.takeEnded().map(\.episode) == [episode])
            #expect(scenario.filter.entryCount == 0)
        }
    }

    @Test func `behind a path of seconds, an episode waits six round trips longer for its first copy`() {
        for (roundTrip, isKnown): (Int64, Bool) in [(1, false), (16, true)] {
            let scenario = FilterScenario()
            _ = scenario.tell(1, 10..<20, roundTrip: .seconds(roundTrip))
            scenario.wait(.seconds(150))
            #expect((scenario.pushAll(10..<20, on: 2) == 0) == isKnown)
        }
    }
}
