import FerryMachine
import Foundation
import NIOCore
import Testing

@testable import FerryShards

/// Random schedules of faults against the keepers of several processes. A failure names its seed; `FERRY_SEED` replays
/// one with its trace, and `FERRY_SCHEDULES` sets a larger number.
@Suite struct ShardScheduleTests {
    static let environment = ProcessInfo.processInfo.environment
    /// The number of schedules; `FERRY_SCHEDULES` sets a larger one.
    static let count = Self.environment["FERRY_SCHEDULES"].flatMap(Int.init) ?? 1000

    private static var replayed: UInt64? { Self.environment["FERRY_SEED"].flatMap(UInt64.init) }

    /// The shares of the schedules. They run at the same time.
    private static let shares = 0..<4

    /// - Parameter part: one schedule in this many is tried.
    private static func seeds(_ salt: UInt64, share: Int, part: Int = 1) -> [UInt64] {
        if let seed = self.replayed { return share == 0 ? [seed] : [] }
        return stride(from: share, to: max(self.count / part, self.shares.count), by: self.shares.count).map {
            UInt64($0) &* 0x9e37_79b9 &+ salt
        }
    }

    /// One to three faults, most of them of the first two processes.
    private static func faults(_ generator: inout SplitMix64, processes: Int) -> [(at: Int, ShardFault)] {
        (0..<Int.random(in: 1...3, using: &generator)).map { _ in
            (Int.random(in: 2000...14_000, using: &generator), Self.fault(&generator, processes: processes))
        }
    }

    private static func fault(_ generator: inout SplitMix64, processes: Int) -> ShardFault {
        let indexes = [
            ShardFault.owner, ShardFault.owner, ShardFault.other, Int.random(in: 0..<processes, using: &generator),
        ]
        let index = indexes.randomElement(using: &generator) ?? 0
        let times = [200, 1000, 2500, 3500, 5000, 7500, 9000, 12_000, 15_000]
        let time = (times.randomElement(using: &generator) ?? 1000) + Int.random(in: 0...1500, using: &generator)
        let restart = Bool.random(using: &generator) ? Int.random(in: 100...8000, using: &generator) : 16_000
        switch Int.random(in: 0..<15, using: &generator) {
        case 0, 1: return .kill(index, restartAfter: restart, isMachineGone: Bool.random(using: &generator))
        case 2, 3: return .pause(index, for: time, isFrozen: Int.random(in: 0..<5, using: &generator) == 0)
        case 4: return .cut(index, for: time)
        case 5: return .cut(index, for: time, up: false)
        case 6: return .cut(index, for: time, down: false)
        case 7: return .endSessions
        case 8: return .forgetSession(index)
        case 9:
            let isSilent = Bool.random(using: &generator)
            return .crash(for: min(time, 9000), losing: Int.random(in: 0...200, using: &generator), isSilent: isSilent)
        case 10: return .crash(for: min(time, 9000), isSilent: Bool.random(using: &generator))
        case 11: return .slowDisk(for: time, commit: Int.random(in: 50...2500, using: &generator))
        case 12: return .stall(for: min(time, 6000))
        case 13: return .refusals(for: min(time, 3000))
        default:
            return Bool.random(using: &generator)
                ? .terminate(index, restartAfter: restart) : .move(to: index)
        }
    }

    @Test(arguments: Self.shares)
    func `whatever happens, nothing durable is lost, and nothing is doubled beyond what was in flight`(share: Int) async
    {
        var total = Figures()
        for seed in Self.seeds(21, share: share) {
            await Task.yield()
            guard total.run(seed, rules: WorldRules()) else { return }
        }
        // Otherwise the schedules prove nothing.
        #expect(Self.areFew || total.takeOvers > 0 && total.inFlight > 0)
        if Self.count > 10_000 { print(total) }
    }

    @Test(arguments: Self.shares)
    func `whatever happens, a gateway that serves from memory loses nothing that it has read while it lives`(
        share: Int
    ) async {
        var rules = WorldRules()
        rules.away = .serve
        var total = Figures()
        for seed in Self.seeds(22, share: share, part: 20) {
            await Task.yield()
            guard total.run(seed, rules: rules) else { return }
        }
        #expect(Self.areFew || total.sentFromMemory > 0)
        if Self.count > 10_000 { print(total) }
    }

    @Test(arguments: Self.shares)
    func `whatever happens, three processes with three shards and real machines lose nothing and double nothing`(
        share: Int
    ) async {
        var rules = WorldRules()
        rules.hasMachine = true
        var total = Figures()
        for seed in Self.seeds(24, share: share, part: 20) {
            await Task.yield()
            guard total.run(seed, shards: 3, rules: rules) else { return }
        }
        // Otherwise the schedules prove nothing.
        #expect(Self.areFew || total.takeOvers > 0 && total.inFlight > 0 && total.told > 0 && total.copies > 0)
        // Programs that send again by themselves, or after a pause, arrive twice in rare cases.
        #expect(total.repeated <= max(total.copies / 50, 20))
        #expect(Self.areFew || total.foundLate <= max(total.takeOvers / 1000, 2))
        if Self.count > 10_000 { print(total) }
    }

    @Test(arguments: Self.shares)
    func `with a synchronous standby a failover loses nothing, whoever dies`(share: Int) async {
        var rules = WorldRules()
        rules.isSynchronous = true
        var total = Figures()
        for seed in Self.seeds(23, share: share, part: 20) {
            await Task.yield()
            guard total.run(seed, rules: rules) else { return }
        }
        #expect(total.excused == 0 && total.excusedRows == 0 && total.afterFailover == 0)
    }

    /// Whether there are too few schedules for each thing to happen in one of them.
    private static var areFew: Bool { self.replayed != nil || self.count < 10_000 }

    private struct Figures {
        var schedules = 0
        var pushes = 0
        var takeOvers = 0
        var inFlight = 0
        var afterCheck = 0
        var afterFailover = 0
        var fromMemory = 0
        var sentFromMemory = 0
        /// Pushes that were durable and rejections that had a row, lost with their owner in a failover.
        var excused = 0
        var excusedRows = 0
        /// Pushes that error responses named, and copies that programs sent.
        var told = 0
        var copies = 0
        /// See `ShardAccount`.
        var repeated = 0
        var foundLate = 0

        /// Returns false after a failure.
        mutating func run(_ seed: UInt64, shards: Int = 1, rules: WorldRules) -> Bool {
            var generator = SplitMix64(seed: seed)
            let count = shards > 1 ? 3 : Int.random(in: 2...3, using: &generator)
            let faults = ShardScheduleTests.faults(&generator, processes: count)
            let isReplay = ShardScheduleTests.replayed != nil
            let world = ShardWorld(seed: seed, processes: count, shards: shards, rules: rules, traces: isReplay)
            world.tracesAll = ShardScheduleTests.environment["FERRY_TRACE"] != nil
            world.play(faults)
            if isReplay { print((world.trace ?? []).joined(separator: "\n")) }
            self.schedules += 1
            self.pushes += world.account.count
            self.takeOvers += world.postgres.takes - shards
            self.inFlight += world.account.inFlight
            self.afterCheck += world.account.afterCheck
            self.afterFailover += world.account.afterFailover
            self.fromMemory += world.account.fromMemory
            self.sentFromMemory += world.account.sendsFromMemory
            self.excused += world.account.excusedDurable
            self.excusedRows += world.account.excusedRows
            self.told += world.account.toldCount
            self.copies += world.account.copyCount
            self.repeated += world.account.repeated
            self.foundLate += world.account.foundLate
            let failures = world.account.faults
            #expect(failures.isEmpty, "seed \(seed), faults \(faults): \(failures)")
            return failures.isEmpty
        }
    }
}
