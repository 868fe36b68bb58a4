internal import FerryCore
package import FerryMachine
package import NIOCore

extension HTTP2Client {
    /// When ``tick(now:)`` is due; nil if only an event can change the state.
    package var nextDeadline: NIODeadline? {
        var next = NIODeadline.distantFuture
        func consider(_ deadline: NIODeadline?) {
            if let deadline, deadline < next { next = deadline }
        }
        consider(self.delayed.firstDue)
        consider(self.suspects.deadline)
        if let run = self.fresh.first { consider(run.submitted + self.deadline) }
        if let attempt = self.again.first { consider(attempt.submitted + self.deadline) }
        if self.hasWork {
            consider(self.dialling.deadline)
            if !self.outage.isWaiting { consider(self.lateDeadline) }
            consider(self.breaker.deadline)
            consider(self.outage.deadline)
            if !self.connections.isEmpty { consider(self.authorization.asksAgainAt) }
        }
        consider(self.connections.deadline(hasWork: self.hasWork))
        return next == .distantFuture ? nil : next
    }

    /// Carries out due work.
    package mutating func tick(now: Moment) {
        while let attempt = self.delayed.popFirst(dueBy: now.monotonic) { self.queueAgain(attempt) }
        self.reportHold(now: now)
        self.giveUpLate(now: now)
        self.leaveReplacedKey(now: now)
        self.clearLateSuspects(now: now)
        self.breaker.tick(now: now.monotonic)
        self.outage.tick(now: now.monotonic)
        self.dialling.tick(now: now.monotonic)
        for id in self.connections.ids { self.tick(id, now: now) }
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
    }

    private mutating func tick(_ id: ConnectionID, now: Moment) {
        self.leaveIfLate(id, now: now)
        self.timeOut(id, now: now)
        self.leaveIfClosed(id, now: now)
        self.judgeConduct(of: id, hasRead: false, now: now)
        switch self.connections[id].tick(now: now) {
        case .nothing:
            break
        case .close:
            self.act(.close(id))
            self.ended(id, .endOfStream, handed: .max, now: now)
        case .dropForSettings:
            let message = "\(self.peer) took the connection and did not begin to speak HTTP/2 in time."
            self.drop(id, ProviderError(.connectTimeout, message), now: now)
        case .dropForPing:
            self.drop(id, .unansweredPing(peer: self.peer), now: now)
        }
    }

    /// Leaves a connection that has allowed no stream for a long time, if work waits.
    ///
    /// "Servers SHOULD only set a zero value for short durations; if a server does not wish to accept requests, closing
    /// the connection is more appropriate" (RFC 9113, section 6.5.2).
    private mutating func leaveIfClosed(_ id: ConnectionID, now: Moment) {
        guard self.hasWork, self.connections[id].isClosed(now: now.monotonic) else { return }
        let error = ProviderError(
            .connectionLost,
            "\(self.peer) allows no requests on the connection: it is left."
        )
        self.report(.socketError(id, error))
        self.countFailure(of: id, error, now: now)
        self.leave(id, now: now)
    }

    /// Stops new requests on a connection whose answers are late, if they are still waited for.
    private mutating func leaveIfLate(_ id: ConnectionID, now: Moment) {
        guard self.limits.waitsForLateAnswers,
            let due = self.connections[id].lateAt(hasWork: self.hasWork), due <= now.monotonic
        else { return }
        self.leaveSilent(id, now: now)
    }

    /// Stops new requests on a connection whose peer answered no request for too long.
    private mutating func leaveSilent(_ id: ConnectionID, now: Moment) {
        let error = ProviderError(.connectionLost, "\(self.peer) answered no request in time.")
        // The connection gets one event, even if many requests wait on it.
        if !self.connections[id].isLeaving { self.report(.socketError(id, error)) }
        self.outcomes.failed(error)
        self.countFailure(of: id, error, now: now)
        self.connections[id].isLate = true
        self.leave(id, now: now)
    }

    /// Ends the requests without an answer in time.
    private mutating func timeOut(_ id: ConnectionID, now: Moment) {
        while let late = self.connections[id].nextLate(now: now.monotonic) {
            if late.isPeerSilent {
                self.leaveSilent(id, now: now)
                if late.isSent { self.learn(from: id, .unknown) }
            }
            let request = self.written.take(late.request.slot)
            switch late.fate {
            case .answered(let answer):
                self.answered(request, answer, on: id, now: now)
            case .unsent:
                self.sendAgain([request.attempt])
            case .unknown:
                if let attempt = self.unknown(request.attempt, .noAnswer) { self.sendAgain([attempt]) }
            }
        }
        self.finishIfDone(id, now: now)
    }
}
