import FerryBinary
import FerryCore
import FerryMachine
import Foundation
import NIOCore
import Testing

@testable import FerryBinaryWorld

/// Random schedules against the reference gateway. A failure names its seed; `FERRY_SEED` replays one.
///
/// The promises that each kind of gateway may break:
///
/// | the gateway | what may be wrong |
/// |---|---|
/// | names what it refuses, in order, within the settle time | nothing |
/// | names it later | `presumed`; contradicted by its tag |
/// | refuses without a name | the same later than the settle time; contradicted by a number that is an upper bound |
/// | judges in any order, or a probe's answer overtakes | `confirmed`, `undelivered` after a refusal; not visible |
/// | closes without a response, or for its own reasons | under `.resend` copies; `presumed` after late discards |
@Suite struct ScheduleTests {
    static let environment = ProcessInfo.processInfo.environment
    /// The number of schedules for each property; `FERRY_SCHEDULES` sets a larger one.
    static let count = Self.environment["FERRY_SCHEDULES"].flatMap(Int.init) ?? 500

    /// - Parameter share: one schedule in this many is tried.
    static func seeds(_ salt: UInt64, share: Int = 1) -> [UInt64] {
        if let seed = self.environment["FERRY_SEED"].flatMap(UInt64.init) { return [seed] }
        return (0..<UInt64(max(self.count / share, 1))).map { $0 &* 0x9e37_79b9 &+ salt }
    }

    @Test func `under hold with timely error responses nothing is lost and nothing doubled`() async {
        for seed in Self.seeds(1) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var schedule = World.Schedule.random(&generator)
            let names = UInt32.random(in: 1...60, using: &generator)
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                schedule.rules.bad[UInt32.random(in: 0..<names, using: &generator)] = 8
            }
            if Bool.random(using: &generator) {
                schedule.firstRules = [schedule.rules]
                schedule.firstRules[0].shutdownAfter = Int.random(in: 1...20, using: &generator)
            }
            if Int.random(in: 0..<4, using: &generator) == 0 { schedule.rules.confirmsEvery = 7 }
            schedule.rules.confirmsBeforeErrors = Bool.random(using: &generator)
            schedule.proof = [.silence, .probe, .automatic].randomElement(using: &generator) ?? .silence
            var world = World(schedule, seed: seed)
            world.submit(0..<names)
            guard world.finish(seed) else { return }
            for name in 0..<names {
                let isBad = schedule.rules.bad[name] != nil
                let copies = world.accepted[name, default: 0]
                guard copies == (isBad ? 0 : 1), world.outcomes[UInt64(name)]?.first?.isAccepted == !isBad else {
                    Issue.record("seed \(seed): \(name) arrived \(copies) times, \(world.outcomes[UInt64(name)] ?? [])")
                    return
                }
            }
            guard world.contradictions.isEmpty else {
                Issue.record("seed \(seed): \(world.contradictions)")
                return
            }
        }
    }

    @Test func `whatever the peer does, every notification has one outcome and no outcome is a lie`() async {
        for seed in Self.seeds(2) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var schedule = World.Schedule.random(&generator)
            let names = UInt32.random(in: 1...60, using: &generator)
            schedule.misbehave(names, &generator)
            var world = World(schedule, seed: seed)
            let half = UInt32.random(in: 0...names, using: &generator)
            world.submit(0..<half)
            for _ in 0..<Int.random(in: 0...50, using: &generator) { world.step() }
            world.submit(half..<names)
            guard world.finish(seed), world.check(names, seed) else { return }
        }
    }

    @Test func `under evict every loss is named`() async {
        for seed in Self.seeds(3) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var schedule = World.Schedule.random(&generator)
            schedule.options.cachePolicy = .evict
            schedule.options.cacheLength = Int.random(in: 1...20, using: &generator)
            schedule.options.autoAdjustCache = Bool.random(using: &generator)
            let names = UInt32.random(in: 1...80, using: &generator)
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                schedule.rules.bad[UInt32.random(in: 0..<names, using: &generator)] = 8
            }
            var world = World(schedule, seed: seed)
            world.submit(0..<names)
            guard world.finish(seed), world.check(names, seed) else { return }
            for name in 0..<names where world.accepted[name] == nil && schedule.rules.bad[name] == nil {
                guard world.outcomes[UInt64(name)] == [.undelivered(.evicted)] else {
                    Issue.record("seed \(seed): \(name) was lost as \(world.outcomes[UInt64(name)] ?? [])")
                    return
                }
            }
        }
    }

    @Test func `late error responses are repaired, and what is wrong is counted exactly`() async {
        for seed in Self.seeds(4) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var schedule = World.Schedule.random(&generator)
            if Bool.random(using: &generator) {
                schedule.takes(1000...4000, &generator)
            } else {
                schedule.errorDelays = .zero ... .seconds(4)
            }
            schedule.proof = Bool.random(using: &generator) ? .silence : .automatic
            schedule.options.settleTime = .milliseconds(300)
            schedule.options.autoAdjustCache = true
            let names = UInt32.random(in: 1...60, using: &generator)
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                schedule.rules.bad[UInt32.random(in: 0..<names, using: &generator)] = 8
            }
            var world = World(schedule, seed: seed)
            world.submit(0..<names)
            guard world.finish(seed), world.check(names, seed) else { return }
            var wrong = 0
            for name in 0..<names {
                let isBad = schedule.rules.bad[name] != nil
                if isBad, world.outcomes[UInt64(name)]?.first?.isAccepted == true { wrong += 1 }
                guard world.accepted[name, default: 0] == (isBad ? 0 : 1) else {
                    Issue.record("seed \(seed): \(name) arrived \(world.accepted[name, default: 0]) times")
                    return
                }
            }
            guard world.client.outcomes.contradicted == wrong else {
                Issue.record("seed \(seed): \(world.client.outcomes.contradicted) contradicted, \(wrong) wrong")
                return
            }
        }
    }

    @Test func `an error without a name, however late, leaves no lost notification untold`() async {
        for seed in Self.seeds(6, share: 4) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var schedule = World.Schedule.random(&generator)
            let names = UInt32.random(in: 1...60, using: &generator)
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                schedule.rules.bad[UInt32.random(in: 0..<names, using: &generator)] = [5, 8].randomElement(
                    using: &generator
                )
            }
            schedule.errorDelays = .zero ... .milliseconds(Int64.random(in: 50...5000, using: &generator))
            schedule.isFirstErrorAtOnce = Bool.random(using: &generator)
            schedule.rules.hidesIdentifier = Bool.random(using: &generator)
            schedule.rules.inventsIdentifier = !schedule.rules.hidesIdentifier
            schedule.options.onUnknown = Bool.random(using: &generator) ? .resend : .report
            schedule.proof = [.silence, .probe, .automatic].randomElement(using: &generator) ?? .silence
            var world = World(schedule, seed: seed)
            world.submit(0..<names)
            guard world.finish(seed), world.check(names, seed) else { return }
            let blamed = (0..<names).filter { name in
                if case .rejected = world.outcome(name) { schedule.rules.bad[name] == nil } else { false }
            }
            guard world.silentlyLost(names).isEmpty, blamed.isEmpty else {
                Issue.record("seed \(seed): lost \(world.silentlyLost(names)), blamed \(blamed)")
                return
            }
        }
    }

    @Test func `a search among many culprits loses none without a word and blames no innocent`() async {
        for seed in Self.seeds(8, share: 4) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var schedule = World.Schedule.random(&generator)
            let names = UInt32.random(in: 1...60, using: &generator)
            schedule.searches(names, &generator)
            var world = World(schedule, seed: seed)
            let half = UInt32.random(in: 0...names, using: &generator)
            world.submit(0..<half)
            for _ in 0..<Int.random(in: 0...50, using: &generator) { world.step() }
            world.submit(half..<names)
            if Int.random(in: 0..<8, using: &generator) == 0 {
                for _ in 0..<Int.random(in: 0...400, using: &generator) { world.step() }
                world.abandon()
            } else if !world.finish(seed) {
                return
            }
            guard world.check(names, seed) else { return }
            let blamed = (0..<names).filter { name in
                if case .rejected = world.outcome(name) { schedule.rules.bad[name] == nil } else { false }
            }
            guard blamed.isEmpty else {
                Issue.record("seed \(seed): blamed \(blamed)")
                return
            }
        }
    }

    @Test func `a gateway that judges at the end of the stream is heard at the end of a run`() async {
        for seed in Self.seeds(7, share: 4) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var schedule = World.Schedule.random(&generator)
            let names = UInt32.random(in: 1...60, using: &generator)
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                schedule.rules.bad[UInt32.random(in: 0..<names, using: &generator)] = 8
            }
            schedule.rules.judging = .atTheEnd
            schedule.takes(0...4000, &generator)
            schedule.options.probeWhenHeld = false
            schedule.options.cacheLimit.entries = 1000
            schedule.options.autoAdjustCache = true
            schedule.proof = Bool.random(using: &generator) ? .silence : .automatic
            var world = World(schedule, seed: seed)
            world.submit(0..<names)
            guard world.finish(seed), world.check(names, seed) else { return }
            // Forgotten notifications are not sent again, but counted.
            let doubled = (0..<names).filter { world.accepted[$0, default: 0] > 1 }
            guard doubled.isEmpty, world.client.outcomes.contradicted == world.lost(names).count else {
                Issue.record(
                    "seed \(seed): doubled \(doubled), lost \(world.lost(names)), \(world.contradictions) contradicted"
                )
                return
            }
        }
    }

    @Test func `a shutdown at any time gives every notification its outcome`() async {
        for seed in Self.seeds(5) {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var schedule = World.Schedule.random(&generator)
            let names = UInt32.random(in: 1...60, using: &generator)
            schedule.misbehave(names, &generator)
            var world = World(schedule, seed: seed)
            world.submit(0..<names)
            for _ in 0..<Int.random(in: 0...200, using: &generator) { world.step() }
            world.abandon()
            guard world.check(names, seed) else { return }
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
        guard ScheduleTests.environment["FERRY_SEED"] != nil else { return }
        print(self.schedule, self.accepted.sorted { $0.key < $1.key }, self.outcomes.sorted { $0.key < $1.key })
        print(self.history.joined(separator: "\n"))
    }
}
