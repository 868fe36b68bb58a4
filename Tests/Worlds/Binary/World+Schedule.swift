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
        schedule.options.connectionRetryLimit = nil
        schedule.takes(0...90, &generator)
        schedule.channelLimit = Int.random(in: 1...4000, using: &generator)
        schedule.kernelLimit = Int.random(in: 1...4000, using: &generator)
        return schedule
    }

    /// Gives all error responses the same delay, chosen from this range.
    mutating func takes(_ milliseconds: ClosedRange<Int64>, _ generator: inout some RandomNumberGenerator) {
        let delay = TimeAmount.milliseconds(Int64.random(in: milliseconds, using: &generator))
        self.errorDelays = delay...delay
    }

    /// Whether an error response may come after the settle time.
    var isLate: Bool {
        Duration(self.errorDelays.upperBound) >= self.options.settleTime || self.rules.judging == .atTheEnd
    }

    /// Whether a response proves everything before it. If not, `confirmed` may be wrong: the protocol says that a
    /// gateway judges in order, and the client cannot see whether it does.
    var judgesInOrder: Bool { self.rules.judging != .inAnyOrder && self.rules.probeAnswer != .overtaking }

    mutating func misbehave(_ names: UInt32, _ generator: inout some RandomNumberGenerator) {
        self.options.onUnknown = Bool.random(using: &generator) ? .resend : .report
        self.options.buffersNotifications = Int.random(in: 0..<4, using: &generator) > 0
        self.options.cachePolicy = Bool.random(using: &generator) ? .hold : .evict
        self.options.retryLimit = Int.random(in: 0...1, using: &generator)
        self.options.finality = Int.random(in: 0..<4, using: &generator) == 0 ? .proof : .silence
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
        case 6: self.firstRules = [ReferenceGateway.Rules(bad: self.rules.bad, babble: Array("220 mail".utf8))]
        default: break
        }
        if Int.random(in: 0..<4, using: &generator) == 0 { self.takes(1000...3000, &generator) }
        self.judge(&generator)
    }

    /// Chooses a gateway that refuses many notifications and names none or half of them.
    mutating func searches(_ names: UInt32, _ generator: inout some RandomNumberGenerator) {
        let oneIn = UInt32.random(in: 1...20, using: &generator)
        for name in 0..<names where UInt32.random(in: 0..<oneIn, using: &generator) == 0 {
            self.rules.bad[name] = [5, 8].randomElement(using: &generator)
        }
        self.rules.hidesOddIdentifiers = Bool.random(using: &generator)
        self.rules.hidesIdentifier = !self.rules.hidesOddIdentifiers
        self.rules.probeAnswer =
            [.inOrder, .nameless(2), .nameless(8), .reset, .none].randomElement(using: &generator) ?? .inOrder
        self.options.finality = Int.random(in: 0..<4, using: &generator) == 0 ? .proof : .silence
        self.dialFailsOneIn = [0, 5].randomElement(using: &generator) ?? 0
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: self.takes(1000...2000, &generator)
        case 1: self.errorDelays = .zero ... .milliseconds(Int64.random(in: 1...2000, using: &generator))
        case 2: self.trouble = .init(every: .seconds(3), isByChance: true)
        case 3: self.resetOneIn = 100
        default: break
        }
        self.proof = [.silence, .probe, .automatic].randomElement(using: &generator) ?? .silence
    }

    /// Chooses the faults of a gateway that is late, judges in another order, or treats probes in its own way.
    mutating func judge(_ generator: inout some RandomNumberGenerator) {
        if Int.random(in: 0..<4, using: &generator) == 0 {
            self.errorDelays = .zero ... .milliseconds(Int64.random(in: 1...5000, using: &generator))
        }
        self.isFirstErrorAtOnce = Int.random(in: 0..<4, using: &generator) == 0
        if Int.random(in: 0..<4, using: &generator) == 0 {
            self.roundTrip = .milliseconds(Int64.random(in: 1...300, using: &generator))
        }
        if Int.random(in: 0..<4, using: &generator) == 0 {
            self.rules.judging = ReferenceGateway.Judging.allCases.randomElement(using: &generator) ?? .inOrder
        }
        if Int.random(in: 0..<4, using: &generator) == 0 {
            self.rules.probeAnswer =
                [.overtaking, .nameless(2), .nameless(5), .nameless(8), .reset, .none].randomElement(using: &generator)
                ?? .inOrder
        }
        self.rules.closesAtTheEnd = Int.random(in: 0..<4, using: &generator) == 0
        self.rules.confirmsBeforeErrors = Int.random(in: 0..<8, using: &generator) == 0
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: self.trouble = .init(every: .seconds(2), word: ReferenceGateway.response(10, 0))
        case 1:
            self.trouble = .init(every: .milliseconds(333), isByChance: true, word: ReferenceGateway.response(255, 0))
        case 2: self.trouble = .init(every: .seconds(2), isByChance: true)
        default: break
        }
        self.proof = [.silence, .probe, .automatic].randomElement(using: &generator) ?? .silence
    }
}

extension World {
    /// Runs to the end and through a shutdown; returns what prevents the end, if anything.
    ///
    /// With proof the shutdown comes first, as at the end of a real run: silence has settled nothing then.
    mutating func finish() -> String? {
        self.submitAll()
        guard self.schedule.proof != .silence || self.run() else {
            return "\(self.client.queuedCount) queued, \(self.client.unsettledCount) unsettled"
        }
        self.shutDown(self.schedule.proof)
        guard self.run() else { return "the shutdown does not end" }
        return self.isSpinning ? "a deadline stays due: it spins" : nil
    }

    mutating func abandon() {
        self.client.abandon(undelivered: .shutDown, uncertain: .shutDown, handed: { _ in .max }, now: self.moment)
        self.settleAccounts()
    }

    /// The one outcome of a notification; nil when it has no outcome or several.
    func outcome(_ name: UInt32) -> Outcome? {
        let outcomes = self.outcomes[UInt64(name)] ?? []
        return outcomes.count == 1 ? outcomes[0] : nil
    }

    /// The notifications that were accepted by their outcome, and that no gateway accepted.
    func lost(_ names: UInt32) -> [UInt32] {
        (0..<names).filter { self.accepted[$0] == nil && self.outcome($0)?.isAccepted == true }
    }

    /// The lost notifications that neither the tags nor the counts of contradictions report.
    ///
    /// - Parameter isUnseen: the notifications whose loss the client cannot see.
    func silentlyLost(_ names: UInt32, besides isUnseen: (UInt32) -> Bool = { _ in false }) -> [UInt32] {
        let told = Set(self.contradictions.flatMap(\.tags).map(\.rawValue))
        let untagged = self.contradictions.reduce(0) { $0 + max($1.upTo - $1.tags.count, 0) }
        return Array(self.lost(names).filter { !told.contains(UInt64($0)) && !isUnseen($0) }.dropFirst(untagged))
    }

    /// Checks the promises that hold in every world: each of `names` notifications has one outcome, and the outcome is
    /// true. The exceptions are losses that the client cannot see, because of the peer's order or of its silence after
    /// the settle time. Returns the broken promise.
    func fault(_ names: UInt32) -> String? {
        for name in 0..<names {
            let copies = self.accepted[name, default: 0]
            guard let outcome = self.outcome(name) else {
                return "\(name) has the outcomes \(self.outcomes[UInt64(name)] ?? [])"
            }
            let isHonest =
                switch outcome {
                case .accepted, .uncertain: true
                default: copies == 0 || !self.schedule.judgesInOrder
                }
            let isDoubled = copies > 1 && self.schedule.options.onUnknown == .report && self.schedule.judgesInOrder
            guard isHonest, !isDoubled else { return "\(name) is \(outcome) and arrived \(copies) times" }
        }
        let silentlyLost = self.silentlyLost(names) { name in
            let isUnheard = self.schedule.isLate && self.untold.contains(name)
            return !self.schedule.judgesInOrder && self.discarded.contains(name)
                || self.outcome(name) == .accepted(.presumed) && isUnheard
        }
        if let name = silentlyLost.first {
            return "\(name) is \(self.outcomes[UInt64(name)] ?? []) and never arrived"
        }
        let counts = self.client.outcomes.counts
        return counts.settled == Int(names) ? nil : "\(names) submitted, \(counts)"
    }
}

extension Outcome {
    var isAccepted: Bool {
        if case .accepted = self { true } else { false }
    }
}
