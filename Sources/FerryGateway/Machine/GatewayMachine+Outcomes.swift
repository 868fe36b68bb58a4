internal import DequeModule
internal import FerryBinary
internal import FerryCore
internal import FerryMachine

/// The outcomes of the upstreams, for the connections and copies that wait for them.
extension GatewayMachine {
    func settled(_ records: [OutcomeRecord], now: Moment) {
        var index = 0
        while index < records.count {
            guard let key = self.scope(of: records[index]) else {
                assert(self.dispatch.isAbandoned, "a notification at an upstream has one outcome")
                index += 1
                continue
            }
            // One turn takes many outcomes, because most outcomes in a row belong to one client.
            self.turn(of: self.place(of: key), now: now) { scope, _, effects in
                let standing = scope.standing(now: now)
                repeat {
                    let id = JobID(rawValue: records[index].tag.rawValue)
                    let outcome = records[index].outcome
                    if let settled = self.dispatch.settle(id, outcome, mayHear: standing.mayHear, now: now) {
                        self.settled(settled, id, &scope, standing, &effects, now: now)
                    }
                    index += 1
                } while index < records.count && self.scope(of: records[index]) == key
            }
        }
        self.collectNotes(now: now)
    }

    private func scope(of record: OutcomeRecord) -> ReplayScope? {
        self.dispatch.jobs.scope(of: JobID(rawValue: record.tag.rawValue))
    }

    /// Notes a final answer, and passes it on. If the answer has a feedback row, the row must be durable first.
    func settled(
        _ settled: Dispatch.Settled,
        _ id: JobID,
        _ scope: inout GatewayScope,
        _ standing: ReplayFilter.Standing,
        _ effects: inout [Effect],
        now: Moment
    ) {
        self.journal?.answered(id, settled.fate, in: settled.segment, now: now)
        self.collectLetters(now: now)
        self.collectRows(now: now)
        if settled.isGone, let segment = self.journal?.number {
            self.unsettled.append((segment, id, scope.key, settled))
        } else {
            self.pass(settled, id, &scope, standing, &effects, now: now)
        }
    }

    /// Passes a final answer to the connections that wait for it, and to the filter for copies that come later.
    func pass(
        _ settled: Dispatch.Settled,
        _ id: JobID,
        _ scope: inout GatewayScope,
        _ standing: ReplayFilter.Standing,
        _ effects: inout [Effect],
        now: Moment
    ) {
        var isHeard = scope.settled(id, settled.fate)
        if self.pass(settled.fate, to: settled.first, id, &scope, standing, &effects, now: now) { isHeard = true }
        for reader in settled.joined where self.pass(settled.fate, to: reader, id, &scope, standing, &effects, now: now)
        {
            isHeard = true
        }
        if case .rejected = settled.fate, !isHeard {
            self.dispatch.verdicts.deferRejection(of: id, client: scope.key.identity)
        }
    }

    /// Passes a result to one connection. Returns whether this connection tells or defers a rejection of the
    /// notification.
    private func pass(
        _ fate: JobFate,
        to reader: Job.Reader,
        _ id: JobID,
        _ scope: inout GatewayScope,
        _ standing: ReplayFilter.Standing,
        _ effects: inout [Effect],
        now: Moment
    ) -> Bool {
        let around = self.surroundings(of: scope.key, now: now)
        defer { self.carryOut(&effects, of: scope.key, now: now) }
        return scope.settled(reader, id, fate, standing, around, &effects)
    }
}
