import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway
@testable import FerryGatewayTestSupport

/// Random courses of one old program: what the promises say without exceptions.
@Suite struct GatewayWorldTests {
    private static let count: UInt32 = 400

    /// Pushes everything once; the first notifications are good, so that the topic is known to be.
    private static func check(
        storeTimes: ClosedRange<Int64>? = nil,
        isTold: Bool = true,
        _ change: (UInt64, inout OldProgram.Manner) -> Void = { _, _ in }
    ) async throws {
        var told = 0
        for seed in UInt64(1)...20 {
            await Task.yield()
            var generator = SplitMix64(seed: seed)
            var manner = OldProgram.Manner()
            change(seed, &manner)
            var apns = GatewayWorld.APNs()
            apns.times = 1...Int64.random(in: 5...300, using: &generator)
            let badCount = Int.random(in: 0...12, using: &generator)
            apns.bad = Set((5..<Self.count).shuffled(using: &generator).prefix(badCount))
            let world = try GatewayWorld(seed: seed, .init(storeTimes: storeTimes), apns)
            var path = Wire.Path()
            path.roundTrip = .milliseconds(Int64.random(in: 0...200, using: &generator))
            let program = OldProgram(world, manner, path, address: [192, 0, 2, 1])
            let pace = TimeAmount.microseconds(Int64.random(in: 0...5000, using: &generator))
            for name in 0..<Self.count {
                let time = TimeAmount.nanoseconds(pace.nanoseconds * Int64(name))
                world.simulation.after(time) { program.push(Push(number: Int(name), name: name)) }
            }
            let end = TimeAmount.nanoseconds(pace.nanoseconds * Int64(Self.count))
            if manner.exits { world.simulation.after(end) { program.exit() } }
            world.run(for: .minutes(30))
            program.exit()
            world.run(for: .minutes(30))
            let tally = world.tally
            if let broken = world.brokenPromise() { Issue.record("seed \(seed): \(broken)") }
            #expect(tally.pushes == Int(Self.count), "seed \(seed)")
            #expect(!tally.isFaulty && tally.raced == 0, "seed \(seed): \(tally)")
            told += tally.told
        }
        // Otherwise the courses prove little.
        #expect(told > 0 || !isTold)
    }

    @Test func `a program that sends again after an error loses nothing and doubles nothing`() async throws {
        try await Self.check()
    }

    @Test func `a program that never sends again loses nothing and doubles nothing`() async throws {
        try await Self.check { $1.reaction = .nothing }
    }

    @Test func `a program with a small cache loses nothing and doubles nothing`() async throws {
        try await Self.check { $1.cacheLength = [50, 100, 300][Int($0 % 3)] }
    }

    @Test func `a program with several connections loses nothing and doubles nothing`() async throws {
        try await Self.check { $1.connections = Int($0 % 4) + 2 }
    }

    @Test func `a slow store loses nothing and doubles nothing`() async throws {
        try await Self.check(storeTimes: 0...300)
    }

    @Test func `a program that writes and exits loses nothing`() async throws {
        try await Self.check(isTold: false) { _, manner in
            manner.reading = .never
            manner.exits = true
        }
    }

    @Test func `a connection for each notification is told although it opened before the first one ended`() throws {
        var apns = GatewayWorld.APNs()
        // Few enough for the side connection's first budget.
        apns.bad = Set(stride(from: 20, to: 220, by: 5))
        let world = try GatewayWorld(seed: 1, .init(), apns)
        let manner = try #require(OldProgram.Manner.libraries.first { $0.name == "PHP script" })
        let program = OldProgram(world, manner, Wire.Path(), address: [192, 0, 2, 1])
        for name in 0..<220 as Range<UInt32> {
            world.simulation.after(.milliseconds(5 * Int64(name))) { program.push(Push(number: Int(name), name: name)) }
        }
        world.run(for: .minutes(1))
        program.exit()
        world.run(for: .minutes(1))
        if let broken = world.brokenPromise() { Issue.record("\(broken)") }
        #expect(!world.tally.isFaulty && world.tally.told == 40, "\(world.tally)")
    }
}
