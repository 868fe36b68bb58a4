import FerryCore
import FerryMachine
import Foundation
import Testing

/// Random schedules of a migration. A failure names its seed; `FERRY_SEED` replays one, and `FERRY_SCHEDULES` sets their number.
@Suite struct MigrationScheduleTests {
    private static let environment = ProcessInfo.processInfo.environment

    private static func seeds(_ salt: UInt64) -> [UInt64] {
        if let seed = self.environment["FERRY_SEED"].flatMap(UInt64.init) { return [seed] }
        let count = self.environment["FERRY_SCHEDULES"].flatMap(Int.init) ?? 50
        return (0..<UInt64(count)).map { $0 &* 0x9e37_79b9 &+ salt }
    }

    private static func run(_ trouble: MigrationWorld.Trouble, salt: UInt64) async {
        for seed in self.seeds(salt) {
            await Task.yield()
            if let fault = self.fault(trouble, seed) {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }

    /// Runs one schedule. Returns the first broken promise; nil if all were kept.
    private static func fault(_ trouble: MigrationWorld.Trouble, _ seed: UInt64) -> String? {
        var world = MigrationWorld(trouble, seed: seed)
        for _ in 0..<Int.random(in: 1...300, using: &world.generator) { world.step() }
        let abandoning = Int.random(in: 0..<8, using: &world.generator) == 0
        guard world.finish(abandoning: abandoning) else { return "it does not end; \(world.client.currentReport)" }
        return world.fault()
    }

    @Test func `a notification that is rejected at the end of a shutdown has its outcome`() {
        // Its group was released, and no further input came.
        #expect(Self.fault(MigrationWorld.Trouble(hasLongPayloads: true), 751_205_322_629) == nil)
    }

    @Test(arguments: [
        // What HTTP/2 gave back, and nobody took, left the count of what its group waits for twice.
        637_064_584_568,
        // A copy that interleaved with the others of its run stood before an earlier notification.
        3_084_454_363_586,
    ])
    func `a notification that a refusing side gives back keeps its place`(seed: UInt64) {
        #expect(Self.fault(MigrationWorld.Trouble(peerRefusesForGood: true), seed) == nil)
    }

    @Test func `moves lose nothing, double nothing and keep the order of each device`() async {
        await Self.run(.none, salt: 1)
    }

    @Test func `a notification that one side cannot take goes over the other, or is rejected`() async {
        await Self.run(MigrationWorld.Trouble(hasLongPayloads: true), salt: 2)
    }

    @Test func `lost connections give each notification one true outcome, on one side`() async {
        await Self.run(MigrationWorld.Trouble(connectionsFail: true), salt: 3)
    }

    @Test func `peers that go and come back give each notification one true outcome, on one side`() async {
        await Self.run(MigrationWorld.Trouble(peersFail: true, connectionsFail: true), salt: 4)
    }

    @Test func `peers that refuse the provider give each notification one true outcome, on one side`() async {
        await Self.run(MigrationWorld.Trouble(peersFail: true, peersRefuse: true), salt: 5)
    }

    @Test func `no notification goes over twice`() async {
        let trouble = MigrationWorld.Trouble(
            peersFail: true,
            peersRefuse: true,
            connectionsFail: true,
            keepsRule: true
        )
        await Self.run(trouble, salt: 7)
    }

    @Test func `notifications that go over from a refusing side keep the order of each device`() async {
        await Self.run(MigrationWorld.Trouble(peerRefusesForGood: true), salt: 8)
    }

    @Test func `moves, lost connections and refusals together give each notification one true outcome`() async {
        let trouble = MigrationWorld.Trouble(
            peersFail: true,
            peersRefuse: true,
            connectionsFail: true,
            hasLongPayloads: true
        )
        await Self.run(trouble, salt: 6)
    }
}
