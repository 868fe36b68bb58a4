internal import DequeModule
package import FerryCore
package import FerryMachine
package import NIOCore

/// The client's part in a migration between two protocols.
extension HTTP2Client {
    package var hasUsableConnection: Bool {
        if self.dialling.waitsForLimitAlone { return true }
        return self.connections.hasUsable && !self.lacksToken && !self.outage.isOn
    }

    /// Whether no request may be written because a provider token is missing.
    private var lacksToken: Bool {
        guard self.usesTokens, case .held = self.authorization else { return false }
        return true
    }

    package func judged(at now: NIODeadline) -> [ConnectionID] { self.connections.judged(at: now) }

    package func takes(_ run: BatchRun, at index: Int) -> Bool {
        self.fields.check.fault(of: run.entries[index], in: run.storage.arena) == nil
    }

    package func visitUnsettled(inFlight isInFlight: Bool, _ visit: (BatchEntry) -> Void) {
        self.written.forEach { visit($0.run.entries[0]) }
        guard !isInFlight else { return }
        self.fresh.forEach { $0.forEachUnsettled(visit) }
        for attempt in self.again { visit(attempt.run.entries[0]) }
        self.delayed.forEach { visit($0.run.entries[0]) }
        self.suspects.forEach { visit($0.run.entries[0]) }
    }

    package func refusal(of run: BatchRun, at index: Int) -> Rejection? {
        self.fields.check.fault(of: run.entries[index], in: run.storage.arena)?.rejection
    }

    package func takesAll(_ run: BatchRun) -> Bool { (0..<run.count).allSatisfy { self.takes(run, at: $0) } }

    package mutating func recall(tainted: Bool, where isMeant: (BatchEntry) -> Bool, now: Moment) -> [BatchRun] {
        func isTaken(_ entry: BatchEntry) -> Bool { (tainted || !entry.marks.isTainted) && isMeant(entry) }
        var recalled = self.takeWaiting(where: isTaken).map { attempt in
            var run = attempt.run
            run.isCopy = attempt.wasWritten
            return run
        }
        recalled += self.fresh.remove(where: isTaken)
        recalled.sort { $0.precedes($1) }
        self.checkCompleted(now: now)
        return recalled
    }

    /// Removes and returns the attempts that wait for their turn, and whose notification `isTaken` accepts.
    mutating func takeWaiting(where isTaken: (BatchEntry) -> Bool) -> [Attempt] {
        var taken = self.delayed.remove { isTaken($0.run.entries[0]) }
        taken += self.suspects.remove { isTaken($0.run.entries[0]) }
        guard self.again.contains(where: { isTaken($0.run.entries[0]) }) else { return taken }
        taken += self.again.filter { isTaken($0.run.entries[0]) }
        self.again.removeAll { isTaken($0.run.entries[0]) }
        return taken
    }
}
