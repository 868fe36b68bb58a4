internal import DequeModule
internal import FerryBinary
package import FerryCore
package import FerryMachine

/// Outcomes, on their way to the connections and copies that wait for them.
extension GatewayMachine {
    /// Takes the outcomes of an upstream.
    package func settled(_ records: [OutcomeRecord], now: Moment) {
        var index = 0
        while index < records.count {
            guard let scope = self.dispatch.jobs.scope(of: JobID(rawValue: records[index].tag.rawValue)) else {
                index += 1
                continue
            }
            // Most outcomes in a row are of one client.
            self.withFilter(scope, now: now) { filter in
                let standing = filter.standing(now: now.monotonic)
                repeat {
                    let id = JobID(rawValue: records[index].tag.rawValue)
                    if let settled = self.dispatch.settle(
                        id,
                        records[index].outcome,
                        mayHear: standing.mayHear,
                        now: now
                    ) {
                        self.settled(settled, id, scope, &filter, standing, now: now)
                    }
                    index += 1
                } while index < records.count
                    && self.dispatch.jobs.scope(of: JobID(rawValue: records[index].tag.rawValue)) == scope
            }
        }
        self.collectNotes(now: now)
    }

    /// Notes a last answer, and passes it on as soon as the store has what it rests on.
    func settled(
        _ settled: Dispatch.Settled,
        _ id: JobID,
        _ scope: ReplayScope,
        _ filter: inout ReplayFilter,
        _ standing: ReplayFilter.Standing,
        now: Moment
    ) {
        self.journal?.answered(id, settled.fate, in: settled.segment, now: now)
        self.collectRows(now: now)
        if settled.isGone, let segment = self.journal?.number {
            self.unsettled.append((segment, id, scope, settled))
        } else {
            self.pass(settled, id, &filter, standing, now: now)
        }
    }

    /// Passes a last answer to the connections that wait for it, and to the copies that may come.
    func pass(
        _ settled: Dispatch.Settled,
        _ id: JobID,
        _ filter: inout ReplayFilter,
        _ standing: ReplayFilter.Standing,
        now: Moment
    ) {
        var isHeard = filter.settled(id, settled.fate)
        if self.pass(settled.fate, to: settled.first, id, &filter, standing, now: now) { isHeard = true }
        for reader in settled.joined where self.pass(settled.fate, to: reader, id, &filter, standing, now: now) {
            isHeard = true
        }
        if case .rejected = settled.fate, !isHeard { self.dispatch.verdicts.deferRejection(of: id) }
    }

    /// Returns whether this connection tells the result, or says that it will not.
    func pass(
        _ fate: JobFate,
        to reader: Job.Reader,
        _ id: JobID,
        _ filter: inout ReplayFilter,
        _ standing: ReplayFilter.Standing,
        now: Moment
    ) -> Bool {
        guard let client = self.clients[reader.connection] else { return false }
        client.connection.spool = self.spool(for: client.identity, now: now)
        let isHeard = client.connection.answers(for: reader.sequence)
        let action = client.connection.settled(reader.sequence, id, fate, now: now.monotonic, standing: standing)
        self.perform(action, client, &filter, now: now)
        return isHeard
    }
}
