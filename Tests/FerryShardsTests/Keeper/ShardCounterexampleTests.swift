import FerryMachine
import NIOCore
import Testing

@testable import FerryGatewayTestSupport
@testable import FerryShards

/// The counterexamples to simpler rules. Each holds with the rule and fails without it.
@Suite struct ShardCounterexampleTests {
    private typealias Faults = [(at: Int, ShardFault)]
    private static let owner = ShardFault.owner
    private static let other = ShardFault.other

    /// Plays a schedule with several seeds. Returns the worlds.
    private static func play(
        _ rules: WorldRules,
        seeds: Int = 20,
        pushes: Int = 110,
        _ faults: (inout SplitMix64) -> Faults
    ) -> [ShardWorld] {
        (0..<UInt64(seeds)).map { seed in
            var generator = SplitMix64(seed: seed)
            let world = ShardWorld(seed: seed, processes: 2, rules: rules)
            world.play(faults(&generator), pushes: pushes)
            return world
        }
    }

    /// Expects no fault with all rules, and a fault of some seed without one of them.
    private static func compare(
        seeds: Int = 20,
        pushes: Int = 110,
        without change: (inout WorldRules) -> Void,
        location: SourceLocation = #_sourceLocation,
        _ faults: (inout SplitMix64) -> Faults
    ) {
        var rules = WorldRules()
        let good = Self.play(rules, seeds: seeds, pushes: pushes, faults).flatMap(\.account.faults)
        #expect(good.isEmpty, sourceLocation: location)
        change(&rules)
        let bad = Self.play(rules, seeds: seeds, pushes: pushes, faults).flatMap(\.account.faults)
        #expect(!bad.isEmpty, "Without the rule nothing fails.", sourceLocation: location)
    }

    private static func random(_ range: ClosedRange<Int>, _ generator: inout SplitMix64) -> Int {
        Int.random(in: range, using: &generator)
    }

    @Test func `S1: a failover loses the commit of a take, and two owners have one epoch and one term`() {
        let without = { (rules: inout WorldRules) in
            rules.hasRandomTerms = false
            // Otherwise two epochs are the same once in 256 times.
            rules.hasRandomGaps = false
        }
        Self.compare(without: without) { _ in
            [
                (1500, .crash(for: 200, losing: 1400)), (1500, .cut(Self.owner, for: 14_000)),
                (12_000, .kill(Self.other, restartAfter: 20_000)),
            ]
        }
    }

    /// The owner is back and lost again between two looks. Under one term, the shard seems to be free all the time.
    @Test func `S1: a come-back has no term of its own`() {
        Self.compare(seeds: 40, without: { $0.hasRandomTerms = false }) { generator in
            let back = Self.random(7000...7200, &generator)
            return [
                (4000, .endSessions), (4000, .cut(Self.owner, for: back - 4000)),
                (back - 1500, .stall(for: 9600 - (back - 1500))),
                (back + 250, .endSessions), (back + 250, .cut(Self.owner, for: 10_000)),
            ]
        }
    }

    /// Both owners number their segments from the same epoch on, so those of the first one seem to be stored.
    @Test func `S1: two takes have one epoch, and the first owner cannot hand over`() {
        Self.compare(seeds: 40, without: { $0.hasRandomGaps = false }) { _ in
            [(600, .crash(for: 200, losing: 500)), (600, .pause(Self.owner, for: 14_000))]
        }
    }

    @Test func `S1: a failover loses the commit of a come-back, and the owner does not know its earlier term`() {
        for knowsAllTerms in [true, false] {
            var rules = WorldRules()
            rules.knowsAllTerms = knowsAllTerms
            let worlds = Self.play(rules) { generator in
                [(5000, .endSessions), (Self.random(5050...5150, &generator), .crash(for: 200, losing: 200))]
            }
            #expect(worlds.allSatisfy { $0.account.faults.isEmpty })
            #expect(worlds.allSatisfy { $0.postgres.takes == 1 } == knowsAllTerms)
            let doubled = worlds.reduce(0) { $0 + $1.account.inFlight + $1.account.afterFailover }
            #expect((doubled == 0) == knowsAllTerms)
        }
    }

    @Test func `S2: an owner comes back without asking whether another was there`() {
        Self.compare(pushes: 200, without: { $0.asksForTerm = false }) { _ in
            [(4000, .cut(Self.owner, for: 9600)), (13_590, .cut(Self.other, for: 20_000))]
        }
    }

    @Test func `S3: a fenced process throws away what it had read`() {
        Self.compare(without: { $0.handsOver = false }) { _ in [(5000, .pause(Self.owner, for: 12_000))] }
    }

    @Test func `S4: nothing is written again after a failover`() {
        Self.compare(without: { $0.keeper.ring = .zero }) { generator in
            [(Self.random(6000...7000, &generator), .crash(for: 500, losing: 200))]
        }
    }

    @Test func `S5: the wait is shorter than the right`() {
        Self.compare(without: { $0.keeper.grace = .seconds(1) }) { _ in
            [(5000, .stall(for: 2600)), (5400, .crash(for: 200, isSilent: true))]
        }
    }

    @Test func `S6: no right to forward`() {
        Self.compare(without: { $0.checksRight = false }) { _ in
            [(3000, .stall(for: 3000)), (5000, .pause(Self.owner, for: 12_000))]
        }
    }

    @Test func `S7: the owner was back and lost again between two looks`() {
        let without = { (rules: inout WorldRules) in
            rules.keeper.comparesTerms = false
            // This rule alone would stop the owner, because it was away for so long.
            rules.keeper.restsAfterAbsence = false
        }
        Self.compare(seeds: 40, without: without) { _ in
            [
                (4000, .cut(Self.owner, for: 7400)), (11_400, .stall(for: 2300)),
                (11_600, .cut(Self.owner, for: 10_000)),
                (11_601, .endSessions),
            ]
        }
    }

    @Test func `S8: commits out of order after a come-back`() {
        Self.compare(seeds: 60, without: { $0.keeper.keepsOrder = false }) { generator in
            [
                (6000, .crash(for: 3000)),
                (Self.random(9000...9260, &generator), .cut(Self.owner, for: 15_000)),
            ]
        }
    }

    /// The commits after the refused one are on their way. If PostgreSQL took them, the next owner's take would cover it.
    @Test func `S8: PostgreSQL takes the commits after a refused one`() {
        Self.compare(seeds: 60, without: { $0.refusesGaps = false }) { generator in
            let cut = Self.random(5500...6500, &generator)
            return [
                (cut - 1500, .slowDisk(for: 3000, commit: 300)), (cut - 1500, .refusals(for: 3000)),
                (cut, .cut(Self.owner, for: 15_000)),
            ]
        }
    }

    @Test func `S9: a statement of the come-back has no deadline`() {
        Self.compare(without: { $0.keeper.returnHasDeadline = false }) { generator in
            [(5000, .endSessions), (Self.random(5001...5004, &generator), .forgetSession(Self.owner))]
        }
    }

    /// Returns the time until another process owns the shard after a kill of its owner, in seconds.
    private static func takeOver(commits: Int) -> Int64 {
        var rules = WorldRules()
        rules.commits = commits
        rules.keeper.underWay = commits
        let world = ShardWorld(seed: 1, processes: 2, rules: rules)
        world.cause(.slowDisk(for: 1_000_000, commit: 2000), at: 3000)
        world.push(0..<200, bad: [], every: .milliseconds(100))
        world.cause(.kill(Self.owner, restartAfter: nil), at: 15_000)
        let killed = ShardWorld.start + .seconds(15)
        world.run(until: killed + .milliseconds(1))
        world.run(until: killed + .minutes(10)) { world.postgres.takes == 2 }
        return (world.now - killed).nanoseconds / 1_000_000_000
    }

    /// Expects that no push arrives twice although programs send their last pushes again after an end, and that many do
    /// without the rule.
    private static func compareRepeats(
        without change: (inout WorldRules) -> Void,
        location: SourceLocation = #_sourceLocation,
        _ faults: (inout SplitMix64) -> Faults
    ) {
        var rules = WorldRules()
        rules.hasMachine = true
        rules.manners = [.repeating]
        let good = Self.play(rules, faults)
        #expect(good.flatMap(\.account.faults).isEmpty, sourceLocation: location)
        #expect(good.allSatisfy { $0.account.repeated == 0 }, sourceLocation: location)
        change(&rules)
        let bad = Self.play(rules, faults).reduce(0) { $0 + $1.account.repeated }
        #expect(bad > 100, sourceLocation: location)
    }

    @Test func `S10: clients are closed before the hand-over, and send again to an owner that knows no first copies`() {
        Self.compareRepeats(without: { $0.closesLast = false }) { _ in [(5000, .pause(Self.owner, for: 12_000))] }
    }

    @Test func `S13: no episodes after a take-over`() {
        Self.compareRepeats(without: { $0.opensEpisodes = false }) { generator in
            [(Self.random(5000...8000, &generator), .kill(Self.owner, restartAfter: nil))]
        }
    }

    @Test func `S11: many commits are under way on a slow disk`() {
        #expect(Self.takeOver(commits: 16) < 40)
        #expect(Self.takeOver(commits: 1000) > 80)
    }

    @Test func `S14: the answer to a hand-over is lost, and it is repeated`() {
        let without = { (rules: inout WorldRules) in
            rules.keepsDoneRows = false
            rules.remembersLate = false
        }
        Self.compare(seeds: 60, without: without) { generator in
            [
                (5000, .pause(Self.owner, for: 12_000)),
                (17_000 + Self.random(290...350, &generator), .cut(Self.owner, for: 4500, up: false)),
            ]
        }
    }

    @Test func `a failover loses what was handed over, and the former owner has forgotten it`() {
        Self.compare(seeds: 60, without: { $0.keeper.handsOverAgain = false }) { generator in
            [
                (5000, .pause(Self.owner, for: 12_000)),
                (17_000 + Self.random(100...500, &generator), .crash(for: 200, losing: 200, isSilent: true)),
            ]
        }
    }

    @Test func `S16: a pool renews the session of the lock`() {
        Self.compare(seeds: 40, without: { $0.hasOneSession = false }) { _ in
            [(6000, .endSessions), (9000, .stall(for: 2500)), (10_000, .cut(Self.owner, for: 4000, up: false))]
        }
    }

    @Test func `S17: the last commits and their owner are lost at once, if no standby is synchronous`() {
        for isSynchronous in [false, true] {
            var rules = WorldRules()
            rules.isSynchronous = isSynchronous
            let worlds = Self.play(rules) { _ in
                [(6000, .crash(for: 500, losing: 200)), (6000, .kill(Self.owner, restartAfter: 20_000))]
            }
            #expect(worlds.allSatisfy { $0.account.faults.isEmpty })
            let lost = worlds.reduce(0) { $0 + $1.account.excusedDurable + $1.account.excusedRows }
            #expect(isSynchronous == (lost == 0))
        }
    }

    @Test func `S18: a gateway that serves from memory loses nothing, and what it has delivered is not sent again`() {
        var rules = WorldRules()
        rules.away = .serve
        let away = Self.play(rules) { _ in [(5000, .crash(for: 20_000))] }
        #expect(away.allSatisfy { $0.account.faults.isEmpty && $0.account.fromMemory == 0 })
        #expect(away.allSatisfy { $0.account.sendsFromMemory > 40 })
        let cut = Self.play(rules) { _ in [(5000, .cut(Self.owner, for: 15_000))] }
        #expect(cut.allSatisfy { $0.account.faults.isEmpty })
        #expect(cut.allSatisfy { $0.account.sendsFromMemory > 20 })
        // A notification and its answer may be in two late segments. Judged one by one, it is sent once more.
        rules.keeper.late = .zero
        let apart = Self.play(rules) { _ in [(5000, .cut(Self.owner, for: 15_000))] }
        #expect(apart.contains { !$0.account.faults.isEmpty })
    }

    @Test func `S19: a new process with the name of a paused one does not wait`() {
        for everybodyWaits in [true, false] {
            var rules = WorldRules()
            rules.everybodyWaits = everybodyWaits
            let faults = (0..<20 as Range<UInt64>).flatMap { seed in
                let world = ShardWorld(seed: seed, names: ["gw1", "gw1"], rules: rules)
                world.play([
                    (5000, .stall(for: 2500)), (6000, .cut(Self.owner, for: 10_000)), (6001, .endSessions),
                ])
                return world.account.faults
            }
            #expect(faults.isEmpty == everybodyWaits)
        }
    }

    /// The take of the other process is lost, but its right is not, and it cannot ask. The first one is back under its old
    /// term.
    @Test func `a failover loses the take of another process, and two owners have the right`() {
        Self.compare(seeds: 60, without: { $0.keeper.restsAfterAbsence = false }) { generator in
            let crash = Self.random(12_400...12_900, &generator)
            return [
                (2500, .stall(for: crash - 1500)), (4000, .cut(Self.owner, for: crash - 3950)),
                (crash, .crash(for: 100, losing: 700)), (crash + 1, .cut(Self.other, for: 5000)),
            ]
        }
    }

    @Test func `an owner whose come-back lost its answer is still the owner, because it named the term`() {
        for namesTerm in [true, false] {
            var rules = WorldRules()
            rules.namesTerm = namesTerm
            let worlds = Self.play(rules, seeds: 60) { generator in
                [(5000, .endSessions), (Self.random(5001...5005, &generator), .forgetSession(Self.owner))]
            }
            #expect(worlds.allSatisfy { $0.account.faults.isEmpty })
            #expect(worlds.allSatisfy { $0.postgres.takes == 1 } == namesTerm)
        }
    }
}
