import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore

extension World.Schedule {
    static func random(_ choices: inout Choices) -> World.Schedule {
        var schedule = World.Schedule()
        schedule.options.maxStreams = choices.number(1...40)
        schedule.options.maxConnections = choices.number(1...3)
        schedule.options.attemptTimeout = .milliseconds(choices.number(50...15_000))
        schedule.options.deadline = .seconds(choices.isOne(in: 8) ? 7200 : choices.number(1...90))
        schedule.options.connectTimeout = .milliseconds(choices.number(200...10_000))
        schedule.options.onUnknown = choices.isOne(in: 2) ? .resend : .report
        schedule.options.connectionRetryLimit = nil
        schedule.rules.hasTokens = choices.isOne(in: 2)
        schedule.hasOldToken = choices.isOne(in: 2)
        schedule.rules.answerDelay = 0...choices.number(0...60)
        schedule.rules.isVerbose = choices.isOne(in: 8)
        schedule.channelLimit = choices.number(1...5000)
        schedule.kernelLimit = choices.number(1...5000)
        return schedule
    }

    mutating func misbehave(_ names: UInt32, _ choices: inout Choices) {
        self.options.connectionRetryLimit = choices.isOne(in: 2) ? nil : choices.number(1...5)
        self.options.pingInterval = .seconds(choices.isOne(in: 2) ? 3600 : choices.number(1...30))
        self.options.idleCheck = .seconds(choices.isOne(in: 2) ? 3600 : choices.number(1...30))
        if choices.isOne(in: 3) { self.options.lateAnswerLimit = .seconds(choices.number(1...60)) }
        if choices.isOne(in: 4) { self.pathForgetsAfter = .milliseconds(Int64(choices.number(500...20_000))) }
        self.forgettingResets = choices.isOne(in: 2)
        self.sleepsOneIn = [0, 0, 50][choices.number(0...2)]
        self.options.delayLimit = choices.number(0...20)
        if choices.isOne(in: 3) {
            self.options.devicePacing = .milliseconds(choices.number(1...20_000))
            self.devices = UInt32(choices.number(1...20))
        }
        if choices.isOne(in: 3) {
            self.options.circuitBreaker = nil
        } else {
            self.options.circuitBreaker?.threshold = choices.number(1...10)
            self.options.circuitBreaker?.trial = choices.number(1...4)
        }
        self.resetOneIn = [0, 20, 200][choices.number(0...2)]
        self.dialFailsOneIn = [0, 0, 3][choices.number(0...2)]
        self.credentialsFailOneIn = [0, 0, 0, 0, 5][choices.number(0...4)]
        for _ in 0..<choices.number(0...8) {
            self.rules.verdicts[UInt32(choices.number(0...Int(names) - 1))] = Self.verdict(&choices)
        }
        for _ in 0..<choices.number(0...4) {
            self.expirations[UInt32(choices.number(0...Int(names) - 1))] = UInt32(choices.number(0...20))
        }
        for _ in 0..<choices.number(0...3) {
            self.rules.laterLimits.append((choices.number(1...30), [0, 1, 2, 5, 1000][choices.number(0...4)]))
        }
        self.rules.streamLimit = [0, 1, 1, 3, 100, 1000][choices.number(0...5)]
        if choices.isOne(in: 6) {
            self.rules.initialWindow = UInt32(choices.number(1...40))
            self.rules.readsAtATime = choices.number(1...40)
        }
        if self.rules.hasTokens {
            if choices.isOne(in: 3) { self.rules.tokenLasts = choices.number(0...20) }
            if choices.isOne(in: 6) { self.rules.tooManyUpdates = choices.number(1...5) }
            if choices.isOne(in: 6) { self.rules.unrelatedKeys = choices.isOne(in: 3) ? .max : choices.number(1...2) }
        }
        self.rules.refusesOneIn = [0, 0, 3, 20][choices.number(0...3)]
        self.rules.resetsOneIn = [0, 0, 3, 20][choices.number(0...3)]
        self.rules.silentOneIn = [0, 0, 0, 5][choices.number(0...3)]
        if choices.isOne(in: 4) { self.rules.tooLarge = [UInt32(choices.number(0...Int(names) - 1))] }
        for _ in 0..<choices.number(0...2) { self.firstRules.append(self.worse(&choices)) }
        if choices.isOne(in: 6) { self.rules = self.worse(&choices) }
    }

    /// Returns the rules of a connection with faults.
    private func worse(_ choices: inout Choices) -> ReferenceAPNs.Rules {
        var rules = self.rules
        switch choices.number(0...13) {
        case 0, 1, 2:
            rules.farewellAfter = choices.number(1...20)
            rules.farewell = ReferenceAPNs.Farewell.allCases[choices.number(0...3)]
        case 3: rules.silentAfter = choices.number(0...20)
        case 4: rules.babblesAfter = choices.number(1...20)
        case 5: rules.promisesAfter = choices.number(1...20)
        case 6: rules.saysNothing = true
        case 7: rules.readsNothing = true
        case 8: rules.closesAfter = choices.number(1...20)
        case 9: rules.resetsAllAfter = choices.number(1...20)
        case 10: rules.failsAll = true
        case 11: rules.refusesAll = true
        default: rules.isTalkative = true
        }
        return rules
    }

    private static func verdict(_ choices: inout Choices) -> ReferenceAPNs.Verdict {
        let some = choices.number(1...3)
        switch choices.number(0...9) {
        case 0: return .init(400, "BadDeviceToken")
        case 1: return .init(410, "Unregistered")
        case 2: return .init(429, "TooManyRequests", attempts: some)
        case 3: return .init(500, "InternalServerError", attempts: some)
        case 4: return .init(503, "ServiceUnavailable", attempts: some)
        case 5: return .init(400, "IdleTimeout", attempts: some)
        case 6: return .init(403, "InvalidProviderToken")
        case 7: return .init(418, "ImATeapot")
        case 8: return .init(204, "NoContent")
        default: return .init(400, "SomethingNew")
        }
    }
}

extension World {
    /// The time limit for the whole run.
    private var limit: TimeAmount {
        let options = self.schedule.options
        let answer = max(options.attemptTimeout, options.lateAnswerLimit ?? .zero)
        return TimeAmount(options.deadline) + TimeAmount(answer) + .seconds(1)
    }

    /// Runs to the end and through a shutdown; returns what prevents the end, if anything.
    mutating func finish() -> String? {
        // After a shutdown the connections must end, too: the last is left at the last deadline, and lingers.
        guard self.run(limit: self.limit + (self.client.isShuttingDown ? .seconds(10) : .zero)) else {
            return self.faults.first ?? "\(self.client.queuedCount) queued, \(self.client.unsettledCount) unsettled"
        }
        self.client.shutDown(proof: .silence, now: self.moment)
        self.settleAccounts()
        return self.run(limit: .seconds(60)) ? nil : self.faults.first ?? "the shutdown does not end"
    }

    /// Checks the promises that hold in every world: each of `names` notifications has one outcome, in time, and the
    /// outcome is true. Returns the broken promise.
    func fault(_ names: UInt32) -> String? {
        if let fault = self.faults.first { return fault }
        var identifiers: Set<String> = []
        for name in 0..<names {
            let records = self.outcomes[UInt64(name)] ?? []
            guard records.count == 1, let record = records.first else { return "\(name) has the outcomes \(records)" }
            if let fault = self.fault(name, record) { return "\(name) \(fault): \(record.outcome)" }
            for identifier in self.books.identifiers[name] ?? [] where !identifiers.insert(identifier).inserted {
                return "the apns-id of \(name) is another's, too"
            }
        }
        guard self.client.queuedCount == 0, self.client.unsettledCount == 0 else { return "something is left" }
        guard self.client.outcomes.contradicted == 0 else { return "outcomes were contradicted" }
        let counts = self.client.outcomes.counts
        return counts.settled == Int(names) ? nil : "\(names) submitted, \(counts)"
    }

    private func fault(_ name: UInt32, _ record: OutcomeRecord) -> String? {
        let copies = self.books.accepted[name, default: 0]
        let identifiers = self.books.identifiers[name] ?? []
        if identifiers.count > 1 { return "has \(identifiers.count) apns-ids" }
        if copies > 1, self.schedule.options.onUnknown == .report { return "arrived \(copies) times" }
        if let settled = self.settledAt[UInt64(name)], let submitted = self.submitted[name],
            settled > submitted + self.limit
        {
            return "ended after \(settled - submitted)"
        }
        let isAccepted = if case .accepted = record.outcome { true } else { false }
        if self.told.contains(name), !isAccepted { return "was accepted, which arrived" }
        switch record.outcome {
        case .accepted:
            guard copies > 0 else { return "was never accepted" }
            return record.apnsID.map { identifiers.contains("\($0)") } == true ? nil : "has no apns-id"
        case .uncertain: return nil
        default: return copies == 0 ? nil : "arrived \(copies) times"
        }
    }
}
