import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2World

/// The cost of peers that end connections early, over a network with delays.
struct HTTP2LossTests {
    private static let names: UInt32 = 1500

    /// The number of requests written for each notification, and the number of notifications that ended as uncertain.
    private struct Cost {
        var copies = Double.infinity
        var uncertain = Int.max
    }

    private func cost(_ seed: UInt64, _ configure: (inout ReferenceAPNs.Rules) -> Void) -> Cost {
        var schedule = World.Schedule()
        schedule.rules.streamLimit = 1000
        schedule.options.maxStreams = 1000
        schedule.options.deadline = .seconds(3600)
        schedule.options.connectionRetryLimit = nil
        schedule.channelLimit = 100_000
        schedule.kernelLimit = 100_000
        configure(&schedule.rules)
        var world = World(schedule, seed: seed)
        world.submit(0..<Self.names)
        guard world.finish(seed), world.check(Self.names, seed) else { return Cost() }
        let outcomes = world.client.outcomes
        return Cost(
            copies: Double(Int(Self.names) + outcomes.resent) / Double(Self.names),
            uncertain: outcomes.counts.uncertain
        )
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `a peer that closes after 300 requests without a word costs a small part of them`(seed: UInt64) {
        let cost = self.cost(seed) { $0.closesAfter = 300 }
        // The first connection shows how many answers connections bring. Every later one loses one sixteenth.
        #expect(cost.uncertain <= 300 + Int(Self.names) / 8, "\(cost)")
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `a peer that says GOAWAY after each 100 requests gets few copies`(seed: UInt64) {
        let cost = self.cost(seed) {
            $0.farewellAfter = 100
            $0.farewell = .unprocessed
        }
        #expect(cost.copies <= 2 && cost.uncertain == 0, "\(cost)")
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `a peer that resets everything at times costs a small part`(seed: UInt64) {
        let cost = self.cost(seed) { $0.resetsAllAfter = 200 }
        #expect(cost.uncertain <= 200 + Int(Self.names) / 8, "\(cost)")
    }

    @Test func `a peer that closes upon every tenth request gets the others through`() {
        let cost = self.cost(1) { $0.closesAfter = 10 }
        #expect(cost.uncertain <= 100 + Int(Self.names) / 9, "\(cost)")
    }
}
