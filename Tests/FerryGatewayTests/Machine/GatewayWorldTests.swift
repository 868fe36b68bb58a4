import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// Random courses of old clients, the gateway machine and an APNs that answers out of order.
@Suite struct GatewayWorldTests {
    private static let count: UInt32 = 400

    private static func world(
        _ seed: UInt64,
        storeTimes: ClosedRange<Int64>? = nil,
        kills: Int = 0,
        _ change: (inout GatewayWorld.Manner) -> Void
    ) throws -> (GatewayWorld, Set<UInt32>) {
        var generator = SplitMix64(seed: seed)
        var manner = GatewayWorld.Manner()
        manner.latency = .milliseconds(Int64.random(in: 0...100, using: &generator))
        manner.pace = .microseconds(Int64.random(in: 0...5_000, using: &generator))
        change(&manner)
        // The first ones are good, so that the topic is known to be.
        let bad = Set((5..<Self.count).shuffled(using: &generator).prefix(Int.random(in: 0...12, using: &generator)))
        let slowest = Int64.random(in: 5...300, using: &generator)
        let world = try GatewayWorld(
            seed: seed,
            manner,
            bad: bad,
            answerTimes: 1...slowest,
            storeTimes: storeTimes
        )
        for _ in 0..<kills { world.kill(after: .milliseconds(Int64.random(in: 0...3000, using: &generator))) }
        world.run(0..<Self.count)
        return (world, bad)
    }

    /// What holds for every client: nothing is lost, nothing is doubled, each rejection is listed once, good ones are not
    /// blamed.
    private static func check(_ world: GatewayWorld, _ bad: Set<UInt32>, seed: UInt64) {
        let counts = world.machine.counts
        let good = (0..<Self.count).filter { !bad.contains($0) }
        let lost = good.filter { world.arrivals[$0] == nil }
        let doubled = good.filter { world.arrivals[$0, default: 0] > 1 }
        let blamed = world.told.filter { told in told.name.map { !bad.contains($0) } ?? false }
        #expect(lost.isEmpty, "seed \(seed): \(lost), \(counts)")
        #expect(doubled.isEmpty, "seed \(seed): \(doubled), \(counts)")
        #expect(
            Set(world.listed.keys) == bad && world.listed.values.allSatisfy { $0 == 1 },
            "seed \(seed): \(world.listed)"
        )
        #expect(blamed.isEmpty, "seed \(seed): \(blamed)")
        #expect(counts.isConserved, "seed \(seed): \(counts)")
        #expect(world.machine.jobCount == 0, "seed \(seed)")
        #expect(world.machine.counts.told == world.told.count, "seed \(seed)")
    }

    @Test func `a client that sends again after an error loses nothing and doubles nothing`() async throws {
        for seed in UInt64(1)...20 {
            await Task.yield()
            let (world, bad) = try Self.world(seed) { _ in }
            Self.check(world, bad, seed: seed)
        }
    }

    @Test func `nor does a client that never sends again`() async throws {
        for seed in UInt64(1)...20 {
            await Task.yield()
            let (world, bad) = try Self.world(seed) { $0.resends = false }
            Self.check(world, bad, seed: seed)
        }
    }

    @Test func `nor one with a small cache`() async throws {
        for seed in UInt64(1)...20 {
            await Task.yield()
            let (world, bad) = try Self.world(seed) { $0.cacheLength = [50, 100, 300][Int(seed % 3)] }
            Self.check(world, bad, seed: seed)
        }
    }

    @Test func `nor one that writes and exits`() async throws {
        for seed in UInt64(1)...20 {
            await Task.yield()
            let (world, bad) = try Self.world(seed) { $0.exits = true }
            Self.check(world, bad, seed: seed)
        }
    }

    // MARK: Stores

    @Test func `a slow store changes nothing`() async throws {
        for seed in UInt64(1)...20 {
            await Task.yield()
            let (world, bad) = try Self.world(seed, storeTimes: 0...Int64(seed * seed)) { _ in }
            Self.check(world, bad, seed: seed)
        }
    }

    @Test func `whatever the store had arrives after kills, and only what had no answer arrives twice`() async throws {
        var recovered = 0
        var swallowed = 0
        for seed in UInt64(1)...30 {
            await Task.yield()
            let (world, bad) = try Self.world(seed, storeTimes: 0...Int64(seed % 30), kills: Int(seed % 4) + 1) {
                $0.cacheLength = [50, 300, 100_000][Int(seed % 3)]
            }
            let good = world.stored.filter { !bad.contains($0) }
            let lost = good.filter { world.arrivals[$0] == nil }
            #expect(lost.isEmpty, "seed \(seed): \(lost)")
            let doubled = Set(world.arrivals.filter { $0.value > 1 }.keys)
            #expect(doubled.isSubset(of: world.unanswered), "seed \(seed): \(doubled.subtracting(world.unanswered))")
            let listedTwice = Set(world.listed.filter { $0.value > 1 }.keys)
            #expect(listedTwice.isSubset(of: world.unanswered), "seed \(seed): \(listedTwice)")
            let blamed = world.told.filter { told in told.name.map { !bad.contains($0) } ?? false }
            #expect(blamed.isEmpty, "seed \(seed): \(blamed)")
            #expect(world.machine.counts.isConserved, "seed \(seed): \(world.machine.counts)")
            #expect(world.machine.isIdle, "seed \(seed)")
            recovered += world.recoveredCount
            swallowed += world.machine.counts.swallowed
        }
        // The courses have what they are for.
        #expect(recovered > 50)
        #expect(swallowed > 50)
    }
}
