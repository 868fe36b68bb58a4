import FerryBinary
import FerryCore
import FerryMachine
import NIOCore

@testable import FerryBinaryWorld

/// A schedule in which simpler rules lost, doubled or blamed notifications. It submits all at once or at a rate, and
/// then shuts down, as at the end of a run.
///
/// `FERRY_SCHEDULES` sets a larger number of runs, and `FERRY_SEED` replays one.
struct Counterexample {
    /// The result of one run.
    struct Course {
        var seed: UInt64
        /// The notifications that the gateway refuses or closes on.
        var culprits: [UInt32]
        /// Nil: the run ended.
        var fault: String?
        /// The notifications whose outcome is accepted and that the gateway never took.
        var lost: [UInt32]
        /// The lost notifications that no contradiction reports.
        var silentlyLost: [UInt32]
        var rejected: [UInt32]
        var uncertain: [UInt32]
        /// How many notifications the gateways read for each submitted one.
        var copies: Double
        /// How often the gateways took the notification that they took most often.
        var deliveries: Int
        var seconds: Double
        /// The number of outcomes that the client knows to be wrong.
        var contradicted: Int
        /// How many copies beyond the first of each were written.
        var resent: Int
        /// How many notifications the gateways took beyond the first copy of each.
        var doubled: Int
        var connections: Int
    }

    /// One run for a thousand schedules of `ScheduleTests`, because each has more notifications and takes longer.
    static let seeds: [UInt64] =
        if let seed = ScheduleTests.environment["FERRY_SEED"].flatMap(UInt64.init) {
            [seed]
        } else {
            Array(1...UInt64(max(ScheduleTests.count / 1000, 2)))
        }

    var names: UInt32 = 300
    /// The rate of submission. Nil: all at once.
    var perSecond: Int64?
    /// The number of culprits.
    var culprits = 1
    var proof = Proof.automatic
    var roundTrips: ClosedRange<Int64> = 1...300
    /// Whether the shutdown waits until every notification has its outcome.
    var settlesFirst = false
    /// Sets the gateway's behaviour towards these culprits.
    var configure: (inout World.Schedule, [UInt32]) -> Void

    /// Runs the schedule with each seed.
    func courses() async -> [Course] {
        var courses: [Course] = []
        for seed in Self.seeds {
            await Task.yield()
            courses.append(self.run(seed))
        }
        return courses
    }

    private func run(_ seed: UInt64) -> Course {
        var generator = SplitMix64(seed: seed &* 0x9e37_79b9)
        var schedule = World.Schedule()
        schedule.options.connectionRetryLimit = nil
        schedule.channelLimit = 100_000
        schedule.kernelLimit = 100_000
        schedule.roundTrip = .milliseconds(Int64.random(in: self.roundTrips, using: &generator))
        let culprits = (0..<self.names).shuffled(using: &generator).prefix(self.culprits).sorted()
        self.configure(&schedule, culprits)
        var world = World(schedule, seed: seed)
        let start = world.now
        if let perSecond = self.perSecond {
            world.submit(self.names, perSecond: perSecond)
            world.submitAll()
        } else {
            world.submit(0..<self.names)
        }
        var fault: String?
        if self.settlesFirst, !world.run(limit: .hours(1)) { fault = "not everything settles" }
        world.shutDown(self.proof)
        if !world.run(limit: .hours(1)) { fault = "the shutdown does not end" }
        if ScheduleTests.environment["FERRY_SEED"] != nil { print(world.history.joined(separator: "\n")) }
        let all = 0..<self.names
        return Course(
            seed: seed,
            culprits: culprits,
            fault: fault ?? world.fault(self.names),
            lost: world.lost(self.names),
            silentlyLost: world.silentlyLost(self.names),
            rejected: all.filter { if case .rejected = world.outcome($0) { true } else { false } },
            uncertain: all.filter { if case .uncertain = world.outcome($0) { true } else { false } },
            copies: Double(world.readCount) / Double(self.names),
            deliveries: world.accepted.values.max() ?? 0,
            seconds: Double((world.now - start).nanoseconds) / 1e9,
            contradicted: world.client.outcomes.contradicted,
            resent: world.client.outcomes.resent,
            doubled: world.accepted.values.reduce(0) { $0 + $1 - 1 },
            connections: world.connectionsMade
        )
    }
}

extension [Counterexample.Course] {
    /// Returns the mean of a figure over all runs.
    func mean(_ figure: (Element) -> Double) -> Double {
        self.isEmpty ? 0 : self.reduce(0) { $0 + figure($1) } / Double(self.count)
    }

    func mean(_ figure: (Element) -> Int) -> Double { self.mean { Double(figure($0)) } }
}
