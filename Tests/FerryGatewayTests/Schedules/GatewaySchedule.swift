import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// One random course of a client, the gateway's machines and an upstream; the same seed gives the same course.
final class GatewaySchedule {
    struct Upstream {
        var times: ClosedRange<Int64> = 5...50
        /// One notification in this many takes seconds; 0: none does.
        var slowShare: UInt32 = 0
        /// A time in which nothing is answered, as when APNs is unreachable: from and to, in milliseconds.
        var stall: Range<Int64> = 0..<0
    }

    let seed: UInt64
    let scenario: GatewayScenario
    let client: LegacyClient
    let manner: LegacyClient.Manner
    let upstream: Upstream
    private var generator: SplitMix64
    let bad: Set<UInt32>

    init(
        seed: UInt64,
        _ manner: LegacyClient.Manner,
        _ upstream: Upstream = Upstream(),
        bad: Set<UInt32>,
        replayClass: ReplayClass = .unknown
    ) {
        self.seed = seed
        self.manner = manner
        self.upstream = upstream
        self.bad = bad
        self.generator = SplitMix64(seed: seed ^ 0x5eed)
        self.scenario = GatewayScenario(replayClass)
        self.client = LegacyClient(self.scenario, manner, seed: seed)
        self.scenario.onForward = { [weak self] job, name in self?.forward(job, name) }
    }

    private func forward(_ job: JobID, _ name: UInt32) {
        var time = TimeAmount.milliseconds(Int64.random(in: self.upstream.times, using: &self.generator))
        if self.upstream.slowShare > 0, UInt32.random(in: 0..<self.upstream.slowShare, using: &self.generator) == 0 {
            time = .seconds(Int64.random(in: 1...6, using: &self.generator))
        }
        var at = self.scenario.now + time
        let stallStart = GatewayScenario.start + .milliseconds(self.upstream.stall.lowerBound)
        let stallEnd = GatewayScenario.start + .milliseconds(self.upstream.stall.upperBound)
        if at >= stallStart, at < stallEnd { at = stallEnd + time }
        let fate: JobFate = self.bad.contains(name) ? .rejected(.invalidToken) : .accepted
        self.scenario.at(at) { self.scenario.answer(job, fate) }
    }

    /// Pushes these, so far apart, and runs until everything is over.
    func run(_ names: [UInt32], every interval: TimeAmount) {
        for (index, name) in names.enumerated() {
            let time = self.scenario.now + .nanoseconds(interval.nanoseconds * Int64(index))
            self.scenario.at(time) { self.client.push(name) }
        }
        if self.manner.exits {
            let end = self.scenario.now + .nanoseconds(interval.nanoseconds * Int64(names.count))
            self.scenario.at(end) { self.client.exit() }
        }
        self.scenario.wait(.minutes(30))
    }

    /// Returns the promise that is broken, if any.
    func fault() -> String? {
        let scenario = self.scenario
        let sum = scenario.forwarded.count + scenario.swallowed.count + scenario.locallyRejected.count
        if scenario.readCount != sum + scenario.refusedCount {
            return "\(scenario.readCount) read, \(sum) accounted for"
        }
        let answered = scenario.accepted.values.reduce(0, +) + scenario.listed.count
        if answered != scenario.forwarded.count || !scenario.jobs.isEmpty {
            return "\(scenario.forwarded.count) forwarded, \(answered) answered"
        }
        let read = Set(scenario.forwarded + scenario.swallowed)
        let lost = read.filter { !self.bad.contains($0) && scenario.accepted[$0] == nil }
        if !lost.isEmpty { return "lost \(lost.sorted())" }
        let blamed = self.client.blamed.filter { !self.bad.contains($0) }
        if !blamed.isEmpty { return "blamed \(blamed)" }
        if Set(scenario.toldJobs).count != scenario.toldJobs.count { return "a rejection was told twice" }
        let toldNames = Set(scenario.toldJobs.compactMap { scenario.names[$0] })
        let untold = Set(scenario.listed).subtracting(toldNames).subtracting(scenario.deferred)
        if !untold.isEmpty { return "rejections \(untold.sorted()) were told nowhere" }
        if scenario.longestStop > .seconds(8) { return "reading stopped for \(scenario.longestStop)" }
        if scenario.filter.entryCount != 0 { return "\(scenario.filter.entryCount) entries never ended" }
        return nil
    }

    /// Records an issue, with everything that replays it.
    func check(_ extra: String? = nil) -> Bool {
        let fault = self.fault() ?? extra
        if GatewayScheduleTests.isReplay || fault != nil {
            print(self.seed, self.manner, self.upstream, "bad", self.bad.sorted())
            print("told", self.scenario.told, "deferred", self.scenario.deferred, self.scenario.filter.replayClass)
        }
        guard let fault else { return true }
        Issue.record("seed \(self.seed): \(fault)")
        return false
    }

    /// The names that were forwarded more often than pushed.
    func doubled(pushed names: [UInt32]) -> [UInt32] {
        var counts: [UInt32: Int] = [:]
        for name in self.scenario.forwarded { counts[name, default: 0] += 1 }
        for name in names { counts[name, default: 0] -= 1 }
        return counts.filter { $0.value > 0 }.keys.sorted()
    }
}
