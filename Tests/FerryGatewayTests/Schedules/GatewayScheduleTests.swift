import FerryBinary
import FerryCore
import FerryMachine
import Foundation
import NIOCore
import Testing

@testable import FerryGateway

/// Random schedules of old clients against the gateway's machines. A failure names its seed; `FERRY_SEED` replays one,
/// and `FERRY_SCHEDULES` sets a larger number.
@Suite struct GatewayScheduleTests {
    static let environment = ProcessInfo.processInfo.environment
    /// The number of schedules for each property; `FERRY_SCHEDULES` sets a larger one.
    static let count = Self.environment["FERRY_SCHEDULES"].flatMap(Int.init) ?? 500
    static var isReplay: Bool { Self.environment["FERRY_SEED"] != nil }
    /// - Parameter share: one schedule in this many is tried.
    private static func seeds(_ salt: UInt64, share: Int) -> [UInt64] {
        if let seed = self.environment["FERRY_SEED"].flatMap(UInt64.init) { return [seed] }
        return (0..<UInt64(max(self.count / share, 1))).map { $0 &* 0x9e37_79b9 &+ salt }
    }

    /// Whether there are too few schedules for each thing to happen in one of them.
    private static var areFew: Bool { self.isReplay || Self.count < 1000 }

    private static func names(_ count: UInt32, bad: UInt32, _ generator: inout SplitMix64) -> Set<UInt32> {
        Set((0..<bad).map { _ in UInt32.random(in: 0..<count, using: &generator) })
    }

    /// The rates of push, in microseconds between two of them.
    private static let intervals: [Int64] = [0, 100, 1000, 10_000, 100_000, 500_000]

    @Test func `whatever client and upstream do, everything that was read has one end, and every rejection is told`()
        async
    {
        var told = 0
        var swallowed = 0
        var deferred = 0
        for seed in Self.seeds(11, share: 4) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var manner = LegacyClient.Manner()
            manner.readsResponses = Int.random(in: 0..<5, using: &generator) > 0
            manner.resends = Int.random(in: 0..<3, using: &generator) > 0
            manner.cacheLength = [5, 50, 100, 1000].randomElement(using: &generator) ?? 1000
            manner.numbers = Int.random(in: 0..<4, using: &generator) > 0
            manner.resetsOnResponse = Bool.random(using: &generator)
            let resendDelays: [Int64] = [0, 0, 500, 2000, 40_000]
            manner.resendDelay = .milliseconds(resendDelays.randomElement(using: &generator) ?? 0)
            manner.shuffle = [0, 0, 3, 30].randomElement(using: &generator) ?? 0
            manner.sockets = Int.random(in: 1...4, using: &generator)
            manner.exits = Bool.random(using: &generator)
            manner.socketLength = [.max, .max, .max, 1, 20].randomElement(using: &generator) ?? .max
            manner.roundTrip = .milliseconds(Int64.random(in: 1...300, using: &generator))
            manner.firstFlight = Bool.random(using: &generator) ? 20 : 1_000_000
            var upstream = GatewaySchedule.Upstream()
            upstream.times = [1...1, 5...50, 1...800, 900...1500].randomElement(using: &generator) ?? 5...50
            upstream.slowShare = [0, 0, 20, 3].randomElement(using: &generator) ?? 0
            if Bool.random(using: &generator) {
                let start = Int64.random(in: 0...3000, using: &generator)
                upstream.stall = start..<start + Int64.random(in: 0...20_000, using: &generator)
            }
            let count = UInt32.random(in: 1...150, using: &generator)
            let badCounts: [UInt32] = [0, 1, 3, count / 5]
            let bad = Self.names(count, bad: badCounts.randomElement(using: &generator) ?? 1, &generator)
            let schedule = GatewaySchedule(seed: seed, manner, upstream, bad: bad)
            schedule.scenario.usesMemo = Bool.random(using: &generator)
            let journalDelays: [Int64] = [0, 10, 600, 1500]
            schedule.scenario.journalDelay = .milliseconds(journalDelays.randomElement(using: &generator) ?? 0)
            var names = Array(0..<count)
            if Int.random(in: 0..<3, using: &generator) == 0 {
                for _ in 0..<count / 10 {
                    let name = UInt32.random(in: 0..<count, using: &generator)
                    names.insert(name, at: Int.random(in: 0...names.count, using: &generator))
                }
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                let time = TimeAmount.milliseconds(Int64.random(in: 0...5000, using: &generator))
                schedule.scenario.at(schedule.scenario.now + time) { schedule.scenario.shutDown() }
            }
            let interval = Self.intervals.randomElement(using: &generator) ?? 0
            schedule.run(names, every: .microseconds(interval))
            guard schedule.check() else { return }
            told += schedule.scenario.told.count
            swallowed += schedule.scenario.swallowed.count
            deferred += schedule.scenario.deferred.count
        }
        // Otherwise the schedules prove nothing.
        #expect(Self.areFew || told > 0 && swallowed > 0 && deferred > 0)
    }

    @Test func `a client with one connection that sends everything again at once is neither doubled nor robbed`() async
    {
        var told = 0
        for seed in Self.seeds(12, share: 4) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var manner = LegacyClient.Manner()
            manner.resetsOnResponse = Bool.random(using: &generator)
            let resendDelays: [Int64] = [0, 0, 100, 10_000]
            manner.resendDelay = .milliseconds(resendDelays.randomElement(using: &generator) ?? 0)
            manner.roundTrip = .milliseconds(Int64.random(in: 1...300, using: &generator))
            var upstream = GatewaySchedule.Upstream()
            upstream.slowShare = [0, 20].randomElement(using: &generator) ?? 0
            let count = UInt32.random(in: 1...200, using: &generator)
            let bad = Self.names(count, bad: UInt32.random(in: 0...5, using: &generator), &generator)
            let schedule = GatewaySchedule(seed: seed, manner, upstream, bad: bad)
            let interval = Self.intervals.randomElement(using: &generator) ?? 0
            let names = Array(0..<count)
            schedule.run(names, every: .microseconds(interval))
            let doubled = schedule.doubled(pushed: names)
            let missing = Set(names).subtracting(schedule.scenario.forwarded)
            // Copies that come late, behind others, double their first one.
            let late = manner.resendDelay > .zero ? schedule.scenario.told.count : 0
            let isRight = doubled.count <= late && missing.isEmpty
            guard schedule.check(isRight ? nil : "doubled \(doubled), missing \(missing.sorted())") else { return }
            told += schedule.scenario.told.count
        }
        #expect(Self.areFew || told > 0)
    }

    /// Two errors at the same time, whose copies come back in another order, can double: fewer than one in a hundred.
    @Test func `a client with several connections that re-sends in another order loses nothing, and few are doubled`()
        async
    {
        var pushed = 0
        var doubled = 0
        var missing = 0
        var told = 0
        for seed in Self.seeds(15, share: 10) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var manner = LegacyClient.Manner()
            manner.sockets = Int.random(in: 2...4, using: &generator)
            manner.shuffle = [0, 5, 50].randomElement(using: &generator) ?? 0
            manner.resetsOnResponse = Bool.random(using: &generator)
            manner.roundTrip = .milliseconds(Int64.random(in: 1...100, using: &generator))
            let bad = Self.names(300, bad: UInt32.random(in: 1...30, using: &generator), &generator)
            let proven = ReplayClass.resends(Reach(proven: 100))
            let schedule = GatewaySchedule(seed: seed, manner, bad: bad, replayClass: proven)
            let interval = Self.intervals.randomElement(using: &generator) ?? 0
            let names = Array(0..<300 as Range<UInt32>)
            schedule.run(names, every: .microseconds(interval))
            guard schedule.check() else { return }
            pushed += names.count
            told += schedule.scenario.told.count
            doubled += schedule.doubled(pushed: names).count
            missing += Set(names).subtracting(schedule.scenario.forwarded).count
        }
        #expect(missing == 0)
        #expect(Self.areFew || told > 0)
        #expect(doubled * 100 <= pushed, "\(doubled) of \(pushed)")
    }

    @Test func `a client that writes and exits loses nothing, at any round trip`() async {
        for seed in Self.seeds(13, share: 4) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var manner = LegacyClient.Manner()
            manner.exits = true
            manner.readsResponses = Bool.random(using: &generator)
            manner.roundTrip = .milliseconds(Int64.random(in: 1...300, using: &generator))
            manner.firstFlight = Int.random(in: 10...60, using: &generator)
            let count = UInt32.random(in: 50...600, using: &generator)
            let bad = Self.names(count, bad: 12, &generator)
            let schedule = GatewaySchedule(seed: seed, manner, bad: bad)
            schedule.run(Array(0..<count), every: .zero)
            let destroyed = schedule.client.destroyed
            guard schedule.check(destroyed.isEmpty ? nil : "destroyed \(destroyed.count)") else { return }
        }
    }

    @Test func `a client without numbers is never told`() async {
        for seed in Self.seeds(14, share: 10) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var manner = LegacyClient.Manner()
            manner.numbers = false
            manner.sockets = Int.random(in: 1...3, using: &generator)
            let schedule = GatewaySchedule(seed: seed, manner, bad: Self.names(100, bad: 10, &generator))
            let interval = Self.intervals.randomElement(using: &generator) ?? 0
            schedule.run(Array(0..<100), every: .microseconds(interval))
            let told = schedule.scenario.told
            guard schedule.check(told.isEmpty ? nil : "told \(told)") else { return }
        }
    }
}
