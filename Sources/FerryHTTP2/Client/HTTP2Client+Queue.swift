internal import DequeModule
package import FerryCore
package import FerryMachine
internal import NIOCore

extension HTTP2Client {
    // MARK: In

    /// Takes notifications. The owner respects `queueLimit`.
    package mutating func submit(_ run: BatchRun, now: Moment) {
        guard run.count > 0 else { return }
        self.isIncomplete = true
        var run = run
        guard run.order == 0 else {
            // The run may have waited elsewhere, and be older than the queued ones.
            self.fresh.insert(run)
            return self.connectIfNeeded(now: now)
        }
        while let part = self.order.placeFirst(of: &run, now: now) { self.fresh.append(part) }
        self.connectIfNeeded(now: now)
    }

    /// Withdraws awaited notifications by their tags, unless they are under way. O(queued).
    package mutating func withdraw(_ tags: Set<UInt64>, now: Moment) {
        func isMeant(_ entry: BatchEntry) -> Bool { entry.fields.isAwaited && tags.contains(entry.tag) }
        let unwritten = self.fresh.remove { isMeant($0) && !$0.marks.isTainted }
        for run in unwritten { self.outcomes.give(.undelivered(.cancelled), to: run) }
        for attempt in self.takeWaiting(where: { isMeant($0) && !$0.marks.isTainted }) {
            self.outcomes.give(.undelivered(.cancelled), to: attempt.run)
        }
        self.checkCompleted(now: now)
    }

    // MARK: Further attempts

    /// Handles a notification that APNs may have. It ends as uncertain, or must be sent again.
    mutating func unknown(
        _ attempt: Attempt,
        _ cause: Outcome.UncertainCause,
        _ errorCode: HTTP2ErrorCode? = nil
    ) -> Attempt? {
        guard self.options.onUnknown == .resend else {
            self.outcomes.give(.uncertain(cause), to: attempt.run, apnsID: attempt.apnsID, errorCode: errorCode)
            return nil
        }
        attempt.run.taint()
        return attempt
    }

    /// Queues attempts before everything else, in the order of their submission.
    mutating func sendAgain(_ attempts: [Attempt]) {
        guard !attempts.isEmpty else { return }
        self.report(.resent(count: attempts.count, afterOutcome: false))
        for attempt in attempts { self.queueAgain(attempt) }
    }

    mutating func queueAgain(_ attempt: Attempt) {
        self.outcomes.hasRequeued = true
        var (low, high) = (self.again.startIndex, self.again.endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if attempt.run.precedes(self.again[middle].run) { high = middle } else { low = middle + 1 }
        }
        self.again.insert(attempt, at: low)
    }

    // MARK: Out

    /// Gives an outcome to an attempt that is not repeated. If APNs refused it before, the last refusal is the outcome.
    ///
    /// - Parameter isFinal: whether the attempt is not given back, because it is too late.
    mutating func giveUp(
        _ attempt: Attempt,
        _ cause: Outcome.UndeliveredCause,
        _ uncertain: Outcome.UncertainCause,
        isFinal: Bool = false
    ) {
        if attempt.run.entries[0].marks.isTainted {
            self.outcomes.give(.uncertain(uncertain), to: attempt.run, apnsID: attempt.apnsID)
        } else if let rejection = attempt.rejection {
            self.outcomes.give(.rejected(rejection), to: attempt.run, apnsID: attempt.apnsID, isFinal: isFinal)
        } else {
            self.outcomes.give(.undelivered(cause), to: attempt.run, apnsID: attempt.apnsID, isFinal: isFinal)
        }
    }

    /// Gives up everything in the queue.
    mutating func giveUpQueue(_ cause: Outcome.UndeliveredCause, _ uncertain: Outcome.UncertainCause) {
        for run in self.fresh.removeAll() {
            self.outcomes.give(.undelivered(cause), tainted: .uncertain(uncertain), to: run)
        }
        let waiting = Array(self.again) + self.delayed.remove { _ in true } + self.suspects.remove { _ in true }
        self.again.removeAll()
        for attempt in waiting { self.giveUp(attempt, cause, uncertain) }
    }

    /// Gives up everything in the queue whose deadline has passed.
    mutating func giveUpLate(now: Moment) {
        while let first = self.fresh.first, first.submitted + self.deadline <= now.monotonic,
            let run = self.fresh.popFirst(atMost: first.count)
        {
            self.outcomes.give(
                .undelivered(self.lateCause),
                tainted: .uncertain(.notRepeated),
                to: run,
                isFinal: true
            )
        }
        while let attempt = self.again.first, attempt.submitted + self.deadline <= now.monotonic {
            self.again.removeFirst()
            self.giveUp(attempt, self.lateCause, .notRepeated, isFinal: true)
        }
    }

    /// The reason why late notifications are late.
    var lateCause: Outcome.UndeliveredCause {
        if self.breaker.refusesProvider { return .credentials }
        if self.outage.isOn { return .deadline }
        if case .held = self.authorization, self.usesTokens, !self.connections.isEmpty { return .credentials }
        return self.connections.isEmpty ? .noConnection : .deadline
    }
}
