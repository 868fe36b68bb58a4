import FerryBinary
import FerryCore
import FerryMachine
import NIOCore

extension World.Schedule {
    static func random(_ generator: inout some RandomNumberGenerator) -> World.Schedule {
        var schedule = World.Schedule()
        schedule.options.cacheLength = Int.random(in: 1...40, using: &generator)
        schedule.options.autoAdjustCache = Bool.random(using: &generator)
        schedule.options.settleTime = .milliseconds(Int64.random(in: 200...1000, using: &generator))
        schedule.options.maxConnections = Int.random(in: 1...3, using: &generator)
        schedule.options.firstSequence = [0, UInt64(UInt32.max) - 12, 1 << 40].randomElement(using: &generator) ?? 0
        schedule.options.probeWhenHeld = Int.random(in: 0..<4, using: &generator) == 0
        schedule.options.command = Bool.random(using: &generator) ? .frame : .enhanced
        schedule.options.connectionRetryLimit = 0
        schedule.errorDelay = .milliseconds(Int64.random(in: 0...90, using: &generator))
        schedule.channelLimit = Int.random(in: 1...4000, using: &generator)
        schedule.kernelLimit = Int.random(in: 1...4000, using: &generator)
        return schedule
    }

    /// Whether silence may end after the settle time.
    var isLate: Bool { Duration(self.errorDelay) >= self.options.settleTime }

    mutating func misbehave(_ names: UInt32, _ generator: inout some RandomNumberGenerator) {
        self.options.onUnknown = Bool.random(using: &generator) ? .resend : .report
        self.options.buffersNotifications = Int.random(in: 0..<4, using: &generator) > 0
        self.options.cachePolicy = Bool.random(using: &generator) ? .hold : .evict
        self.options.retryLimit = Int.random(in: 0...1, using: &generator)
        self.resetOneIn = [0, 20, 100].randomElement(using: &generator) ?? 0
        self.dialFailsOneIn = [0, 3].randomElement(using: &generator) ?? 0
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            let status: UInt8 = [1, 5, 7, 8, 128, 255, 77].randomElement(using: &generator) ?? 8
            self.rules.bad[UInt32.random(in: 0..<names, using: &generator)] = status
        }
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: self.rules.hidesIdentifier = true
        case 1: self.rules.inventsIdentifier = true
        case 2: self.rules.responseLength = Int.random(in: 0...5, using: &generator)
        case 3: self.rules.poison = [UInt32.random(in: 0..<names, using: &generator)]
        case 4: self.rules.shutdownAfter = Int.random(in: 1...30, using: &generator)
        case 5: self.rules.closeAfter = Int.random(in: 1...30, using: &generator)
        case 6: self.firstRules = [ReferenceGateway.Rules(bad: self.rules.bad, babble: Array("HTTP/1.1 400".utf8))]
        default: break
        }
        if Int.random(in: 0..<4, using: &generator) == 0 {
            self.errorDelay = .milliseconds(Int64.random(in: 1000...3000, using: &generator))
        }
    }
}

extension World {
    /// Runs to the end and through a shutdown; returns what keeps it from ending, if anything.
    mutating func finish() -> String? {
        guard self.run() else { return "\(self.client.queuedCount) queued, \(self.client.unsettledCount) unsettled" }
        self.client.shutDown(proof: .silence, now: self.moment)
        self.settleAccounts()
        return self.run() ? nil : "the shutdown does not end"
    }

    mutating func abandon() {
        self.client.abandon(undelivered: .shutDown, uncertain: .shutDown, handed: { _ in .max }, now: self.moment)
        self.settleAccounts()
    }

    /// What holds in every world: one outcome for each of `names` notifications, and none a lie. Returns what does not.
    func fault(_ names: UInt32) -> String? {
        let contradicted = Set(self.contradictions.flatMap(\.tags).map(\.rawValue))
        let anonymous = self.contradictions.contains { $0.tags.count < $0.count }
        for name in 0..<names {
            let copies = self.accepted[name, default: 0]
            guard let outcomes = self.outcomes[UInt64(name)], outcomes.count == 1, let outcome = outcomes.first else {
                return "\(name) has the outcomes \(self.outcomes[UInt64(name)] ?? [])"
            }
            let isHonest =
                if case .uncertain = outcome {
                    true
                } else if outcome == .accepted(.presumed) {
                    copies > 0 || anonymous || contradicted.contains(UInt64(name))
                        || self.schedule.isLate && self.discarded.contains(name)
                } else {
                    (copies > 0) == (outcome == .accepted(.confirmed))
                }
            guard isHonest else { return "\(name) is \(outcome) and arrived \(copies) times" }
        }
        let counts = self.client.outcomes.counts
        return counts.settled == Int(names) ? nil : "\(names) submitted, \(counts)"
    }
}
