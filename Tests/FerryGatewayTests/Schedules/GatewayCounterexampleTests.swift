import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// Schedules in which simpler rules destroyed, lost, doubled or blamed notifications.
@Suite struct GatewayCounterexampleTests {
    /// Two runs for a thousand schedules of `GatewayScheduleTests`, because each has more notifications.
    static let seeds: [UInt64] =
        if let seed = GatewayScheduleTests.environment["FERRY_SEED"].flatMap(UInt64.init) {
            [seed]
        } else {
            Array(1...UInt64(max(GatewayScheduleTests.count / 500, 2)))
        }

    static func bad(_ count: Int, of all: UInt32, _ seed: UInt64) -> Set<UInt32> {
        var generator = SplitMix64(seed: seed)
        return Set((0..<all).shuffled(using: &generator).prefix(count))
    }

    @Test(arguments: [80, 100, 300] as [Int64])
    func `50 ms of silence may lie between two flights of a client that writes and exits`(roundTrip: Int64) async {
        for seed in Self.seeds {
            await Task.yield()
            var manner = LegacyClient.Manner()
            manner.exits = true
            manner.roundTrip = .milliseconds(roundTrip)
            manner.firstFlight = 140
            let schedule = GatewaySchedule(seed: seed, manner, bad: Self.bad(12, of: 600, seed))
            schedule.run(Array(0..<600), every: .zero)
            #expect(schedule.check())
            #expect(schedule.client.destroyed.isEmpty)
        }
    }

    @Test func `a gateway that knows only the way to a balancer writes between two flights`() async {
        var destroyed = 0
        for seed in Self.seeds {
            await Task.yield()
            var manner = LegacyClient.Manner()
            manner.exits = true
            manner.roundTrip = .milliseconds(300)
            manner.isHidden = true
            manner.firstFlight = 140
            let schedule = GatewaySchedule(seed: seed, manner, bad: Self.bad(12, of: 600, seed))
            schedule.run(Array(0..<600), every: .zero)
            destroyed += schedule.client.destroyed.count
        }
        #expect(destroyed > 0)
    }

    @Test func `a flow that lasts longer than a second after the exit is not written into`() async {
        for seed in Self.seeds {
            await Task.yield()
            var manner = LegacyClient.Manner()
            manner.exits = true
            manner.roundTrip = .milliseconds(40)
            manner.spacing = .microseconds(700)
            let schedule = GatewaySchedule(seed: seed, manner, bad: Self.bad(12, of: 2500, seed))
            schedule.run(Array(0..<2500), every: .zero)
            #expect(schedule.check())
            #expect(schedule.client.destroyed.isEmpty)
        }
    }

    @Test func `a client with a small cache that resets when it reads is told after its flow only`() async {
        for (cache, roundTrip): (Int, Int64) in [(100, 40), (50, 300)] {
            for seed in Self.seeds {
                await Task.yield()
                var manner = LegacyClient.Manner()
                manner.cacheLength = cache
                manner.resetsOnResponse = true
                manner.roundTrip = .milliseconds(roundTrip)
                manner.spacing = .microseconds(500)
                let schedule = GatewaySchedule(seed: seed, manner, bad: Self.bad(12, of: 2500, seed))
                schedule.run(Array(0..<2500), every: .zero)
                #expect(schedule.check())
                #expect(schedule.client.destroyed.isEmpty)
            }
        }
    }

    /// A burst and exit that begins while the six bytes travel cannot be prevented: one run in eight had it.
    @Test func `events during the work of the journal are seen before the error response is written`() async {
        var hurt = 0
        for seed in Self.seeds {
            await Task.yield()
            var manner = LegacyClient.Manner()
            manner.exits = true
            manner.roundTrip = .milliseconds(40)
            manner.firstFlight = 140
            var generator = SplitMix64(seed: seed)
            let schedule = GatewaySchedule(seed: seed, manner, bad: [2])
            schedule.scenario.journalDelay = .milliseconds(Int64.random(in: 300...900, using: &generator))
            for name: UInt32 in 0..<20 { schedule.scenario.at(schedule.scenario.now) { schedule.client.push(name) } }
            schedule.scenario.wait(.milliseconds(Int64.random(in: 500...1600, using: &generator)))
            schedule.run(Array(20..<1520), every: .zero)
            #expect(schedule.check())
            if !schedule.client.destroyed.isEmpty { hurt += 1 }
        }
        #expect(hurt <= max(1, Self.seeds.count / 4))
    }

    @Test func `a client that never reads keeps its connection, and its repeats are not swallowed`() async {
        for seed in Self.seeds {
            await Task.yield()
            var manner = LegacyClient.Manner()
            manner.readsResponses = false
            manner.roundTrip = .milliseconds(300)
            let schedule = GatewaySchedule(seed: seed, manner, bad: [30])
            // It pauses after the bad one, so that it is told, and then repeats everything every 15 s.
            for round: Int64 in 0..<5 {
                schedule.scenario.at(GatewayScenario.start + .seconds(15 * round)) {
                    for name: UInt32 in 0..<60 { schedule.client.push(name) }
                }
            }
            schedule.run([], every: .zero)
            #expect(schedule.check())
            #expect(schedule.scenario.told.count == 1)
            #expect(schedule.client.destroyed.isEmpty)
            #expect(schedule.scenario.swallowed.isEmpty)
            #expect(schedule.scenario.closed.count == 1)
        }
    }

    @Test func `errors on several connections at the same time neither wait for each other nor double`() async {
        var doubled = 0
        for seed in Self.seeds {
            await Task.yield()
            var manner = LegacyClient.Manner()
            manner.sockets = 4
            manner.roundTrip = .milliseconds(20)
            let schedule = GatewaySchedule(
                seed: seed,
                manner,
                bad: Self.bad(20, of: 1000, seed),
                replayClass: .resends(Reach(proven: 100))
            )
            let names = Array(0..<1000 as Range<UInt32>)
            schedule.run(names, every: .milliseconds(2))
            #expect(schedule.check())
            #expect(schedule.scenario.told.count > 2)
            doubled += schedule.doubled(pushed: names).count
        }
        #expect(doubled <= Self.seeds.count)
    }

    @Test func `rejections that are the last notification each prove nothing, and all are told`() async {
        for seed in Self.seeds {
            await Task.yield()
            let bad = Set((1...10 as ClosedRange<UInt32>).map { $0 * 9 })
            let schedule = GatewaySchedule(seed: seed, LegacyClient.Manner(), bad: bad)
            schedule.run(Array(0..<100), every: .milliseconds(500))
            #expect(schedule.check())
            #expect(schedule.scenario.told.count == bad.count)
            #expect(schedule.scenario.filter.replayClass == .unknown)
        }
    }

    @Test func `copies that come late and singly do not show that a client sends nothing again`() async {
        for seed in Self.seeds {
            await Task.yield()
            var manner = LegacyClient.Manner()
            manner.roundTrip = .milliseconds(108)
            manner.resendDelay = .seconds(10)
            // One follower each is on its way when the client is told of the first two.
            let schedule = GatewaySchedule(seed: seed, manner, bad: [6, 12, 200])
            let names = Array(0..<210 as Range<UInt32>)
            schedule.run(names, every: .milliseconds(500))
            #expect(schedule.check())
            #expect(schedule.scenario.told.count == 3)
            #expect(schedule.scenario.filter.replayClass != .never)
            #expect(schedule.doubled(pushed: names) == [7, 13])
        }
    }

    @Test func `with one identifier for all, status 10 would make a client send its history again`() async {
        for seed in Self.seeds {
            await Task.yield()
            var manner = LegacyClient.Manner()
            manner.numbers = false
            let schedule = GatewaySchedule(seed: seed, manner, bad: [])
            schedule.scenario.at(GatewayScenario.start + .seconds(2)) { schedule.scenario.shutDown() }
            let names = Array(0..<70 as Range<UInt32>)
            schedule.run(names, every: .milliseconds(20))
            #expect(schedule.check())
            #expect(schedule.scenario.told.isEmpty)
            #expect(schedule.doubled(pushed: names).isEmpty)
        }
    }

    @Test func `after a crash a deliberate repeat late on a new connection is delivered`() {
        let scenario = GatewayScenario()
        let followers = (0..<60 as Range<UInt64>).map { name in
            Follower(
                key: ReplayKey(high: 1, low: name),
                job: JobID(rawValue: 1 << 32 + name),
                fate: .accepted,
                isConstant: false
            )
        }
        let episode = EpisodeID(connection: ConnectionID(1 << 32), sequence: 0)
        scenario.open(episode, .crash, followers)
        let connection = scenario.connect()
        // Re-sent notifications come first. After three others, the rest is new.
        scenario.pushAll(50..<60, on: connection)
        scenario.pushAll(100..<103, on: connection)
        scenario.pushAll(0..<50, on: connection)
        #expect(scenario.swallowed.count == 10)
        #expect(scenario.forwarded.count == 53)
        scenario.wait(.seconds(61))
        #expect(scenario.filter.entryCount == 0)
    }

    @Test func `constants are doubled in the first episode of a client at most`() async {
        for seed in Self.seeds {
            await Task.yield()
            let first = GatewayScenario.constants
            let names = Array(first..<first + 500)
            let bad = Set(Self.bad(5, of: 500, seed).map { $0 + first })
            let schedule = GatewaySchedule(seed: seed, LegacyClient.Manner(), bad: bad)
            schedule.run(names, every: .milliseconds(25))
            #expect(schedule.check())
            let extra = schedule.scenario.forwarded.count - names.count
            #expect(extra <= names.count)
        }
    }

    @Test func `300 slow devices in a row stop the reading for seconds, not for minutes`() {
        let scenario = GatewayScenario()
        scenario.onForward = { job, name in
            let time: TimeAmount = name < 300 ? .seconds(60) : .milliseconds(20)
            scenario.at(scenario.now + time) { scenario.answer(job, .accepted) }
        }
        let connection = scenario.connect()
        for name: UInt32 in 0..<3000 {
            scenario.push(name, on: connection)
            scenario.wait(.milliseconds(10))
        }
        #expect(scenario.readCount == 3000)
        #expect(scenario.longestStop <= .seconds(2))
    }

    @Test func `a probe is answered although most of the traffic is copies`() {
        let scenario = GatewayScenario(.resends(Reach(proven: 50)))
        for round: UInt32 in 0..<10 {
            let connection = scenario.connect()
            scenario.pushAll(0..<50, on: connection)
            scenario.push(1000 + round, on: connection)
            scenario.accept(0..<50)
            scenario.reject(1000 + round)
            scenario.wait(.milliseconds(60))
            scenario.end(connection)
            // The next connection brings the same again, as followers of another one.
            let other = EpisodeID(connection: ConnectionID(5000 + UInt64(round)), sequence: 0)
            let followers = (0..<50 as Range<UInt64>).map { name in
                Follower(
                    key: ReplayKey(high: 1, low: name),
                    job: JobID(rawValue: 1 << 32 + UInt64(round) * 100 + name),
                    fate: .accepted,
                    isConstant: false
                )
            }
            var effects: [Effect] = []
            scenario.filter.open(other, .rejection, followers: followers, now: scenario.now, effects: &effects)
            scenario.filter.drained(other, now: scenario.now, effects: &effects)
        }
        #expect(scenario.filter.standing(now: scenario.now).isAmplified)
        let connection = scenario.connect()
        scenario.push(5000, on: connection)
        scenario.accept([5000])
        scenario.send(GatewayScenario.probe(77), on: connection)
        scenario.wait(.seconds(1))
        #expect(scenario.told.last == .init(connection: connection, status: .missingDeviceToken, identifier: 77))
    }
}
