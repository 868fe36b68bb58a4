import FerryMachine
import Foundation
import NIOCore
import Testing

@testable import FerryGateway
@testable import FerryGatewayTestSupport

/// Old programs behind slow ways, and before an APNs in trouble. `FERRY_MIXTURES` sets a larger number of seeds, one for each
/// hundred.
@Suite struct LateClientTests {
    private static let seeds: ClosedRange<UInt64> = {
        let count = ProcessInfo.processInfo.environment["FERRY_MIXTURES"].flatMap(UInt64.init) ?? 0
        return 1...max(count / 100, 1)
    }()

    private static func manner(_ name: String) throws -> OldProgram.Manner {
        try #require(OldProgram.Manner.libraries.first { $0.name == name })
    }

    /// Pushes names at once, in order; the bad ones are far from the beginning.
    private static func run(
        _ manner: OldProgram.Manner,
        seed: UInt64,
        count: UInt32,
        bad: Set<UInt32>,
        _ path: Wire.Path,
        _ apns: GatewayWorld.APNs = GatewayWorld.APNs()
    ) throws -> GatewayTally {
        var apns = apns
        apns.bad = bad
        let world = try GatewayWorld(seed: seed, GatewayWorld.Gateway(), apns)
        // The topic is known to be good.
        let other = OldProgram(world, try Self.manner("grocer"), Wire.Path(), address: [192, 0, 2, 9])
        other.push(Push(number: Int(count), name: count))
        world.run(for: .milliseconds(500))
        let program = OldProgram(world, manner, path, address: [192, 0, 2, 1])
        for name in 0..<count { program.push(Push(number: Int(name), name: name)) }
        world.run(for: .minutes(30))
        program.exit()
        other.exit()
        world.run(for: .minutes(30))
        if let broken = world.brokenPromise() { Issue.record("seed \(seed): \(broken)") }
        return world.tally
    }

    /// A client whose error response comes late, from its 50th notification on.
    @Test(
        arguments: ["apns4erl", "Pushy, 1 connection", "Pushy", "node-apn"],
        [1500, 10_000] as [Int64]
    )
    func `copies of a client that hears late arrive once, but for the first of a row`(
        name: String,
        late: Int64
    ) throws {
        for seed in Self.seeds {
            var path = Wire.Path()
            path.delay = .milliseconds(late)
            path.delayFrom = 50
            let tally = try Self.run(Self.manner(name), seed: seed, count: 300, bad: [50, 200], path)
            #expect(tally.destroyed + tally.swallowed + tally.blamed == 0, "seed \(seed): \(tally)")
            #expect(tally.toldNowhere + tally.listedTwice == 0, "seed \(seed): \(tally)")
            #expect(tally.told > 0)
            let rows = name.hasPrefix("Pushy") ? 2 : 0
            #expect(tally.doubled <= rows * tally.told, "seed \(seed): \(tally)")
        }
    }

    /// The last copy of apns4erl comes behind a cache that forgot all before it.
    @Test func `a late client whose cache keeps the first ones and the very last doubles nothing`() throws {
        for seed in Self.seeds {
            var path = Wire.Path()
            path.delay = .milliseconds(1500)
            path.delayFrom = 50
            let tally = try Self.run(Self.manner("apns4erl"), seed: seed, count: 2000, bad: [200], path)
            #expect(!tally.isFaulty && tally.told == 1, "seed \(seed): \(tally)")
        }
    }

    @Test func `Pushy on four connections doubles nothing when it is told in the middle of its pushes`() throws {
        for seed in Self.seeds {
            let tally = try Self.run(Self.manner("Pushy"), seed: seed, count: 2000, bad: [500, 501, 502], Wire.Path())
            #expect(!tally.isFaulty && tally.told > 0, "seed \(seed): \(tally)")
        }
    }

    /// The notifications that it wrote on the connection that was told come behind all other copies, so they are late.
    @Test(arguments: ["Pushy, 1 connection", "Pushy"])
    func `Pushy doubles nothing if its next connection is told before it has sent all copies`(name: String) throws {
        for seed in Self.seeds {
            var generator = SplitMix64(seed: seed)
            var manner = try Self.manner(name)
            // In the first course, a filter that forgets the first followers too soon doubles some.
            manner.pace = .microseconds(seed == 1 ? 3300 : Int64.random(in: 500...8000, using: &generator))
            let distance = seed == 1 ? 220 : Int.random(in: 20...400, using: &generator)
            let bad = Set(stride(from: UInt32(distance - 1), to: 2000, by: distance))
            var path = Wire.Path()
            if seed > 1 { path.roundTrip = .milliseconds(Int64.random(in: 0...200, using: &generator)) }
            var apns = GatewayWorld.APNs()
            if seed > 1 { apns.times = 1...Int64.random(in: 5...800, using: &generator) }
            let tally = try Self.run(manner, seed: seed, count: 2000, bad: bad, path, apns)
            #expect(!tally.isFaulty, "seed \(seed), every \(manner.pace), \(distance) apart, \(path): \(tally)")
            #expect(tally.told > 1 || seed > 1)
        }
    }

    @Test(arguments: [false, true])
    func `trouble of APNs in the middle doubles nothing, though the copies wait for the gateway`(isDown: Bool) throws {
        for seed in Self.seeds {
            for name in ["Pushy, 1 connection", "node-apn"] {
                var apns = GatewayWorld.APNs()
                apns.times = 50...60
                if isDown { apns.stall = 700..<5700 } else { apns.outage = 700..<5700 }
                var manner = try Self.manner(name)
                manner.cacheLength = 100_000
                let tally = try Self.run(manner, seed: seed, count: 2000, bad: [100, 900], Wire.Path(), apns)
                #expect(!tally.isFaulty, "seed \(seed), \(name): \(tally)")
            }
        }
    }

    @Test func `a balancer hides the way to a client that writes and exits, and destroys nothing`() throws {
        for roundTrip: Int64 in [300, 1000, 2000] {
            var path = Wire.Path()
            path.roundTrip = .milliseconds(roundTrip)
            path.isHidden = true
            let manner = try Self.manner("script that exits")
            let tally = try Self.run(manner, seed: 1, count: 600, bad: [3, 50, 100], path)
            #expect(tally.destroyed + tally.raced == 0, "\(roundTrip) ms: \(tally)")
        }
    }

    @Test func `behind a path of 8 s each way, copies that need a minute arrive once`() throws {
        var path = Wire.Path()
        path.roundTrip = .seconds(16)
        var manner = try Self.manner("node-apn")
        manner.cacheLength = 100_000
        let tally = try Self.run(manner, seed: 1, count: 400, bad: [50, 300], path)
        #expect(!tally.isFaulty, "\(tally)")
    }
}
