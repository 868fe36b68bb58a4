import FerryCore
import FerryHTTP2
import FerryMachine
import Foundation
import NIOCore
import Testing

@testable import FerryHTTP2World

/// Random schedules against the reference APNs. A failure names its seed; `FERRY_SEED` replays one.
struct HTTP2ScheduleTests {
    static let environment = ProcessInfo.processInfo.environment
    /// The number of schedules for each property; `FERRY_SCHEDULES` sets a larger one.
    static let count = Self.environment["FERRY_SCHEDULES"].flatMap(Int.init) ?? 250

    static func seeds(_ salt: UInt64) -> [UInt64] {
        if let seed = self.environment["FERRY_SEED"].flatMap(UInt64.init) { return [seed] }
        return (0..<UInt64(self.count)).map { $0 &* 0x9e37_79b9 &+ salt }
    }

    @Test func `from a server that behaves, everything is accepted once`() async {
        for seed in Self.seeds(1) {
            await Task.yield()
            var choices = Choices(rest: SplitMix64(seed: seed))
            var schedule = World.Schedule.random(&choices)
            schedule.options.attemptTimeout = .seconds(60)
            schedule.options.deadline = .seconds(90)
            schedule.options.connectTimeout = .seconds(60)
            let names = UInt32(choices.number(1...60))
            var world = World(schedule, seed: seed)
            world.submit(0..<names)
            guard world.finish(seed), world.check(names, seed) else { return }
            for name in 0..<names {
                let copies = world.books.accepted[name, default: 0]
                let outcome = world.outcomes[UInt64(name)]?.first?.outcome
                guard copies == 1, outcome == .accepted(.confirmed) else {
                    Issue.record("seed \(seed): \(name) arrived \(copies) times, \(String(describing: outcome))")
                    return
                }
            }
        }
    }

    @Test func `whatever the peer does, every notification has one outcome in time and no outcome is a lie`() async {
        for seed in Self.seeds(2) {
            await Task.yield()
            var choices = Choices(rest: SplitMix64(seed: seed))
            var schedule = World.Schedule.random(&choices)
            let names = UInt32(choices.number(1...60))
            schedule.misbehave(names, &choices)
            var world = World(schedule, seed: seed)
            let half = UInt32(choices.number(0...Int(names)))
            world.submit(0..<half)
            for _ in 0..<choices.number(0...50) { world.step() }
            world.submit(half..<names)
            guard world.finish(seed), world.check(names, seed) else { return }
        }
    }

    @Test func `a path that forgets quiet connections, and a machine that sleeps, cost nothing`() async {
        for seed in Self.seeds(5) {
            await Task.yield()
            var choices = Choices(rest: SplitMix64(seed: seed))
            var schedule = World.Schedule.random(&choices)
            schedule.options.attemptTimeout = .seconds(60)
            schedule.options.deadline = .seconds(90)
            schedule.options.connectTimeout = .seconds(60)
            let idle = choices.number(1...20)
            schedule.options.idleCheck = .seconds(idle)
            schedule.options.pingInterval = .seconds(choices.isOne(in: 2) ? 3600 : choices.number(1...30))
            // Bytes may be under way for a while, one at a time.
            schedule.channelLimit = max(schedule.channelLimit, 500)
            schedule.kernelLimit = max(schedule.kernelLimit, 500)
            schedule.pathForgetsAfter = .seconds(Int64(idle + 10))
            schedule.forgettingResets = choices.isOne(in: 2)
            let names = UInt32(choices.number(1...8))
            var world = World(schedule, seed: seed)
            for name in 0..<names {
                world.submit([name])
                // A request that is under way when the path forgets is lost, whatever the client does.
                _ = world.run(limit: .seconds(30))
                world.rest(.milliseconds(Int64(choices.number(0...60_000))))
                if choices.isOne(in: 4) { world.sleep(.seconds(Int64(choices.number(1...100)))) }
            }
            guard world.finish(seed), world.check(names, seed) else { return }
            guard world.client.outcomes.counts.accepted == Int(names) else {
                Issue.record("seed \(seed): \(world.client.outcomes.counts)")
                return
            }
        }
    }

    @Test func `a provider that is abandoned at any time gives every notification its outcome`() async {
        for seed in Self.seeds(3) {
            await Task.yield()
            var choices = Choices(rest: SplitMix64(seed: seed))
            var schedule = World.Schedule.random(&choices)
            let names = UInt32(choices.number(1...60))
            schedule.misbehave(names, &choices)
            var world = World(schedule, seed: seed)
            world.submit(0..<names)
            for _ in 0..<choices.number(0...200) { world.step() }
            world.abandon()
            let isFinished = world.client.isFinished
            #expect(isFinished, "seed \(seed)")
            guard world.check(names, seed) else { return }
        }
    }

    @Test func `a shutdown at any time comes to its end`() async {
        for seed in Self.seeds(4) {
            await Task.yield()
            var choices = Choices(rest: SplitMix64(seed: seed))
            var schedule = World.Schedule.random(&choices)
            let names = UInt32(choices.number(1...60))
            schedule.misbehave(names, &choices)
            var world = World(schedule, seed: seed)
            world.submit(0..<names)
            for _ in 0..<choices.number(0...100) { world.step() }
            world.client.shutDown(proof: .silence, now: world.moment)
            world.settleAccounts()
            guard world.finish(seed), world.check(names, seed) else { return }
        }
    }
}

extension World {
    /// Runs to the end and through a shutdown; records an issue if the run does not end.
    mutating func finish(_ seed: UInt64) -> Bool {
        guard let fault = self.finish() else { return true }
        self.printReplay()
        Issue.record("seed \(seed): \(fault)")
        return false
    }

    /// Records an issue if a promise that holds in every world is broken here.
    func check(_ names: UInt32, _ seed: UInt64) -> Bool {
        self.printReplay()
        guard let fault = self.fault(names) else { return true }
        Issue.record("seed \(seed): \(fault)")
        return false
    }

    /// Prints everything if the user asked for one schedule.
    private func printReplay() {
        guard HTTP2ScheduleTests.environment["FERRY_SEED"] != nil else { return }
        print(self.schedule, self.books.accepted.sorted { $0.key < $1.key })
        print(self.outcomes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: "\n"))
        print(self.events.map { "\n\($0)" }.joined())
    }
}
