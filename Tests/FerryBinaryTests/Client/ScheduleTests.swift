import FerryBinary
import FerryCore
import Foundation
import NIOCore
import Testing

/// Random schedules against the reference gateway. A failure names its seed; `FERRY_SEED` replays one.
@Suite struct ScheduleTests {
    static let environment = ProcessInfo.processInfo.environment
    /// How many schedules each property is tried with; `FERRY_SCHEDULES` asks for more.
    static let count = Self.environment["FERRY_SCHEDULES"].flatMap(Int.init) ?? 4000

    static func seeds(_ salt: UInt64) -> [UInt64] {
        if let seed = self.environment["FERRY_SEED"].flatMap(UInt64.init) { return [seed] }
        return (0..<UInt64(self.count)).map { $0 &* 0x9e37_79b9 &+ salt }
    }

    @Test func `under hold with timely error responses nothing is lost and nothing doubled`() {
        for seed in Self.seeds(1) {
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

    @Test func `whatever the peer does, every notification has one outcome and no outcome is a lie`() {
        for seed in Self.seeds(2) {
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

    @Test func `under evict every loss is named`() {
        for seed in Self.seeds(3) {
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

    @Test func `late error responses are repaired, and what is wrong is counted exactly`() {
        for seed in Self.seeds(4) {
            var generator = SplitMix64(seed: seed)
            var schedule = World.Schedule.random(&generator)
            schedule.errorDelay = .milliseconds(Int64.random(in: 1000...4000, using: &generator))
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

    @Test func `a shutdown at any time gives every notification its outcome`() {
        for seed in Self.seeds(5) {
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

extension World.Schedule {
    static func random(_ generator: inout SplitMix64) -> World.Schedule {
        var schedule = World.Schedule()
        schedule.options.cacheLength = Int.random(in: 1...40, using: &generator)
        schedule.options.autoAdjustCache = Bool.random(using: &generator)
        schedule.options.settleTime = .milliseconds(Int64.random(in: 200...1000, using: &generator))
        schedule.options.maxConnections = Int.random(in: 1...3, using: &generator)
        schedule.options.firstSequence = [0, UInt64(UInt32.max) - 12, 1 << 40].randomElement(using: &generator) ?? 0
        schedule.options.probeWhenHeld = Int.random(in: 0..<4, using: &generator) == 0
        schedule.options.command = Bool.random(using: &generator) ? .frame : .enhanced
        schedule.options.connectionRetryLimit = 0
        schedule.errorDelay = .milliseconds(Int64.random(in: 0...90, using: &generator))
        schedule.channelLimit = Int.random(in: 1...4000, using: &generator)
        schedule.kernelLimit = Int.random(in: 1...4000, using: &generator)
        return schedule
    }

    /// Whether silence may end after the settle time.
    var isLate: Bool { Duration(self.errorDelay) >= self.options.settleTime }

    mutating func misbehave(_ names: UInt32, _ generator: inout SplitMix64) {
        self.options.onUnknown = Bool.random(using: &generator) ? .resend : .report
        self.options.buffersNotifications = Int.random(in: 0..<4, using: &generator) > 0
        self.options.cachePolicy = Bool.random(using: &generator) ? .hold : .evict
        self.options.retryLimit = Int.random(in: 0...1, using: &generator)
        self.resetOneIn = [0, 20, 100].randomElement(using: &generator) ?? 0
        self.dialFailsOneIn = [0, 3].randomElement(using: &generator) ?? 0
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            let status: UInt8 = [1, 5, 7, 8, 128, 255, 77].randomElement(using: &generator) ?? 8
            self.rules.bad[UInt32.random(in: 0..<names, using: &generator)] = status
        }
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: self.rules.hidesIdentifier = true
        case 1: self.rules.inventsIdentifier = true
        case 2: self.rules.responseLength = Int.random(in: 0...5, using: &generator)
        case 3: self.rules.poison = [UInt32.random(in: 0..<names, using: &generator)]
        case 4: self.rules.shutdownAfter = Int.random(in: 1...30, using: &generator)
        case 5: self.rules.closeAfter = Int.random(in: 1...30, using: &generator)
        case 6: self.firstRules = [ReferenceGateway.Rules(bad: self.rules.bad, babble: Array("HTTP/1.1 400".utf8))]
        default: break
        }
        if Int.random(in: 0..<4, using: &generator) == 0 {
            self.errorDelay = .milliseconds(Int64.random(in: 1000...3000, using: &generator))
        }
    }
}

extension World {
    /// Runs to the end and through a shutdown; records an issue when it does not end.
    mutating func finish(_ seed: UInt64) -> Bool {
        guard self.run() else {
            if ScheduleTests.environment["FERRY_SEED"] != nil {
                print(self.schedule)
                print(self.events.suffix(30).map { "\n\($0)" }.joined())
            }
            Issue.record("seed \(seed): \(self.client.queuedCount) queued, \(self.client.unsettledCount) unsettled")
            return false
        }
        self.client.shutDown(proof: .silence, now: self.moment)
        self.settleAccounts()
        guard self.run() else {
            Issue.record("seed \(seed): the shutdown does not end")
            return false
        }
        return true
    }

    mutating func abandon() {
        self.client.abandon(undelivered: .shutDown, uncertain: .shutDown, handed: { _ in .max }, now: self.moment)
        self.settleAccounts()
    }

    /// What holds in every world.
    func check(_ names: UInt32, _ seed: UInt64) -> Bool {
        if ScheduleTests.environment["FERRY_SEED"] != nil {
            print(self.schedule, self.accepted.sorted { $0.key < $1.key }, self.outcomes.sorted { $0.key < $1.key })
            print(self.events.map { "\n\($0)" }.joined())
        }
        let contradicted = Set(self.contradictions.flatMap(\.tags).map(\.rawValue))
        let anonymous = self.contradictions.contains { $0.tags.count < $0.count }
        for name in 0..<names {
            let copies = self.accepted[name, default: 0]
            guard let outcomes = self.outcomes[UInt64(name)], outcomes.count == 1, let outcome = outcomes.first else {
                Issue.record("seed \(seed): \(name) has the outcomes \(self.outcomes[UInt64(name)] ?? [])")
                return false
            }
            let isHonest =
                switch outcome {
                case .accepted(.confirmed): copies > 0
                case .accepted:
                    copies > 0 || anonymous || contradicted.contains(UInt64(name))
                        || self.schedule.isLate && self.discarded.contains(name)
                case .rejected, .expired, .undelivered: copies == 0
                case .uncertain: true
                }
            guard isHonest else {
                Issue.record("seed \(seed): \(name) is \(outcome) and arrived \(copies) times")
                return false
            }
        }
        let counts = self.client.outcomes.counts
        guard counts.settled == Int(names) else {
            Issue.record("seed \(seed): \(names) submitted, \(counts)")
            return false
        }
        return true
    }
}

extension Outcome {
    var isAccepted: Bool {
        if case .accepted = self { true } else { false }
    }
}
