internal import FerryMachine
internal import HeapModule
package import NIOCore

extension Dispatch {
    /// When to call ``timePassed(now:)``; nil if only an input can change the state.
    package var nextDeadline: NIODeadline? {
        guard !self.isAbandoned else { return nil }
        var next = self.delayed.min?.at ?? .distantFuture
        if let tryAt = self.routes.tryAt { next = min(next, tryAt) }
        for outgoing in self.outgoing {
            if let dialAt = outgoing.dialAt { next = min(next, dialAt) }
            if let deadline = outgoing.copies.deadline { next = min(next, deadline) }
        }
        if self.underWay > 0 { next = min(next, self.nextTickAt) }
        return next == .distantFuture ? nil : next
    }

    /// Sends the notifications that are due. Returns the notifications that have expired, and the copies that have
    /// waited too long for a side connection.
    mutating func timePassed(now: Moment) -> [(JobID, ReplayScope, Settled)] {
        // Nothing more goes to an upstream. Another process may already send the stored notifications.
        guard !self.isAbandoned else { return [] }
        var expired: [(JobID, ReplayScope, Settled)] = []
        while let due = self.delayed.min, due.at <= now.monotonic {
            self.delayed.removeMin()
            self.sendUnlessExpired(due.job, now: now, &expired)
        }
        for id in self.routes.takeTries(now: now.monotonic) { self.sendUnlessExpired(id, now: now, &expired) }
        if self.underWay > 0, self.nextTickAt <= now.monotonic { self.beginTick(now: now) }
        for outgoing in self.outgoing { outgoing.dialIfNeeded(now: now.monotonic) }
        return expired + self.giveUpCopies(now: now)
    }

    /// Begins a tick. A notification whose answer has become late leaves its room, in the flow's credit or on the
    /// side connection, to other notifications.
    private mutating func beginTick(now: Moment) {
        self.nextTickAt = now.monotonic + UnderWay.tick
        self.tick &+= 1
        for outgoing in self.outgoing { outgoing.side.tick(isWanted: outgoing.wantsSide) }
        for flow in self.flows.indices {
            self.flows[flow].credit.tick()
            self.queue(flow)
        }
    }

    private mutating func sendUnlessExpired(
        _ id: JobID,
        now: Moment,
        _ expired: inout [(JobID, ReplayScope, Settled)]
    ) {
        guard let job = self.jobs[id] else { return assert(self.isAbandoned, "only the end gives up a waiting job") }
        if let end = self.expire(id, job, now: now) {
            expired.append((id, job.scope, end))
        } else {
            self.send(id, now: now)
        }
    }
}
