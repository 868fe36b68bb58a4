import FerryMachine
import Foundation
import NIOCore
import Testing

@testable import FerryGateway

/// Random mixtures of old programs against the gateway machine. A failure names its seed. `FERRY_SEED` replays one and
/// prints the course of each notification that was lost or doubled; `FERRY_MIXTURES` sets a larger number.
@Suite struct GatewayMixtureTests {
    private static let environment = ProcessInfo.processInfo.environment

    private static func seeds(_ salt: UInt64) -> [UInt64] {
        if let seed = Self.environment["FERRY_SEED"].flatMap(UInt64.init) { return [seed] }
        let count = Self.environment["FERRY_MIXTURES"].flatMap(UInt64.init) ?? 50
        return (0..<count).map { $0 &* 0x9e37_79b9 &+ salt }
    }

    @Test func `nothing is destroyed, every rejection is listed, and few are swallowed or doubled`() async throws {
        let sum = try await Self.run(Self.seeds(21), isKilled: false)
        // One client that does not send again, and repeats its list on purpose within a minute, loses some: see
        // "Twice, once, never" in Docs/commands/gateway.md.
        #expect(sum.swallowed <= max(sum.pushes / 10_000, 5))
        #expect(sum.doubled <= max(sum.pushes / 100, 3))
    }

    /// After a kill, the first notifications of a new connection may be repeats: a few more are swallowed.
    @Test func `the same holds when the gateway is killed or started again`() async throws {
        let sum = try await Self.run(Self.seeds(22), isKilled: true)
        #expect(sum.swallowed <= max(sum.pushes / 1000, 10))
        #expect(sum.doubled <= max(sum.pushes / 100, 3))
    }

    private static func run(_ seeds: [UInt64], isKilled: Bool) async throws -> GatewayTally {
        var sum = GatewayTally()
        for seed in seeds {
            await Task.yield()
            let mixture = try GatewayMixture(seed: seed, isKilled: isKilled)
            if seeds.count == 1 { mixture.world.account.courses = [:] }
            mixture.run()
            let tally = mixture.world.tally
            if seeds.count == 1 || seeds.count > 100 && tally.isFaulty {
                print("seed \(seed): \(tally)\n\(mixture.description)")
                for course in mixture.world.faultyCourses { print(course) }
            }
            if let broken = mixture.world.brokenPromise() { Issue.record("seed \(seed): \(broken)") }
            #expect(tally.destroyed == 0 && tally.toldTwice == 0 && tally.toldNowhere == 0, "seed \(seed): \(tally)")
            #expect(tally.blamed == 0 || mixture.blamesCurrent, "seed \(seed): \(tally)")
            sum += tally
        }
        print(sum)
        return sum
    }
}
