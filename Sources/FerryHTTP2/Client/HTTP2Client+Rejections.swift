internal import DequeModule
internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension HTTP2Client {
    /// Handles the rejection of a notification, which is sent again as `rule` says, or gets its outcome.
    ///
    /// - Parameter rule: the rule for the next attempt; nil if there is no other attempt.
    mutating func rejected(
        _ request: WrittenAttempt,
        _ rejection: Rejection,
        _ rule: RetryRule?,
        _ retryAfter: UInt32?,
        on id: ConnectionID,
        now: Moment
    ) {
        var attempt = request.attempt
        attempt.rejection = rejection
        switch rule {
        case .never, .afterRepair, nil:
            self.finallyRejected(attempt, rejection, writtenAt: request.written)
        case .later:
            self.failedOnServer(request, rejection, retryAfter, on: id, now: now)
        case .forDevice:
            let waits = Self.deviceRetry
            guard
                let due = self.delay(
                    attempt,
                    waits,
                    asked: retryAfter,
                    rejection,
                    writtenAt: request.written,
                    now: now
                )
            else { return }
            self.pacer.hold(attempt.run.entries[0].tokenHash, until: due, now: now.monotonic)
        case .withNewToken, .whenThawed:
            guard case .token(let token) = self.authorization else {
                // The token is being replaced or is held now.
                guard self.usesTokens else {
                    return self.finallyRejected(attempt, rejection, writtenAt: request.written)
                }
                return self.sendAgain([attempt])
            }
            if token.generation == request.tokenGeneration {
                self.act(.refused(rejection.reason, token))
                self.tokenRefusal = (token, rejection.reason)
                // No token is used until the owner has answered the refusal.
                self.authorization = .held(until: now.monotonic)
            }
            self.sendAgain([attempt])
        case .onNewConnection:
            attempt.wasMoved = true
            self.keyMove.begin(last: self.dialling.lastID)
            self.leave(id, now: now)
            self.sendAgain([attempt])
        case .elsewhere:
            self.leave(id, now: now)
            self.sendAgain([attempt])
        }
    }

    private mutating func finallyRejected(_ attempt: Attempt, _ rejection: Rejection, writtenAt: NIODeadline) {
        // A refusal because of the service or the provider does not tell what happened to an earlier copy.
        let isAboutNotification =
            400...499 ~= rejection.status ?? 0 && rejection.status != 403 && rejection.status != 429
        let isUnknown = attempt.run.entries[0].marks.isTainted && !isAboutNotification
        self.outcomes.give(
            isUnknown ? .uncertain(.notRepeated) : .rejected(rejection),
            to: attempt.run,
            writtenAt: writtenAt,
            apnsID: attempt.apnsID
        )
        let isAwaited = attempt.run.entries[0].fields.isAwaited
        self.report(
            .transmissionError(
                rejection,
                tag: isAwaited ? nil : PushTag(attempt.run.entries[0].tag),
                notification: attempt.run.notification(at: 0),
                device: attempt.run.entries[0].fields.isBroadcast ? nil : attempt.run.device(at: 0)
            )
        )
    }

    /// Delays the next attempt, if deadline, expiration and room allow it; returns its time.
    ///
    /// - Parameter asked: the seconds that the answer asked for. They replace the shortest wait.
    mutating func delay(
        _ attempt: Attempt,
        _ waits: ClosedRange<Duration>,
        asked: UInt32?,
        _ rejection: Rejection,
        writtenAt: NIODeadline,
        now: Moment
    ) -> NIODeadline? {
        let entry = attempt.run.entries[0]
        let first = asked.map { TimeAmount.seconds(max(Int64($0), 1)) } ?? TimeAmount(waits.lowerBound)
        let longest = max(first, TimeAmount(waits.upperBound))
        let (doubled, isTooLong) = first.nanoseconds.multipliedReportingOverflow(by: 1 << Int64(min(entry.retries, 16)))
        let wait = isTooLong ? longest.nanoseconds : min(doubled, longest.nanoseconds)
        // Up to a quarter is added, so that attempts that failed together do not return together.
        let jitter = Int64.random(in: 0...wait / 4, using: &self.generator)
        let due = now.monotonic + .nanoseconds(wait + jitter)
        let isExpired =
            entry.fields.hasExpiration && entry.expiration != 0
            && Int64(entry.expiration) <= Int64(now.epochSeconds) + (wait + jitter) / 1_000_000_000
        guard due < attempt.submitted + self.deadline, !isExpired, !self.delayed.isFull else {
            self.finallyRejected(attempt, rejection, writtenAt: writtenAt)
            return nil
        }
        _ = attempt.run.retry(atMost: .max)
        self.delayed.insert(attempt, due: due)
        self.outcomes.hasRequeued = true
        return due
    }
}
