internal import DequeModule
internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension HTTP2Client {
    /// APNs rejected a notification: it is sent again as `rule` says, or that is its outcome.
    ///
    /// - Parameter rule: nil: it is not sent again.
    mutating func rejected(
        _ request: InFlight.Request,
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
            self.finallyRejected(attempt, rejection)
        case .later:
            _ = self.delay(attempt, Self.serverRetry, asked: retryAfter, rejection, now: now)
        case .forDevice:
            guard let due = self.delay(attempt, Self.deviceRetry, asked: retryAfter, rejection, now: now) else {
                return
            }
            self.pacer.hold(attempt.run.entries[0].tokenHash, until: due, now: now.monotonic)
        case .withNewToken, .whenThawed:
            guard case .token(let token) = self.authorization else {
                // Replaced, or held, in the meantime.
                guard self.usesTokens else { return self.finallyRejected(attempt, rejection) }
                return self.sendAgain([attempt])
            }
            if token.generation == request.tokenGeneration {
                self.act(.refused(rejection.reason, token))
                self.tokenRefusal = (token, rejection.reason)
                // Until the owner has said what is to be used from now on.
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

    private mutating func finallyRejected(_ attempt: Attempt, _ rejection: Rejection) {
        // What APNs says of the service or of the provider now says nothing of an earlier copy.
        let isAboutNotification =
            400...499 ~= rejection.status ?? 0 && rejection.status != 403 && rejection.status != 429
        let isUnknown = attempt.run.entries[0].marks.isTainted && !isAboutNotification
        self.outcomes.give(
            isUnknown ? .uncertain(.notRepeated) : .rejected(rejection),
            to: attempt.run,
            apnsID: attempt.apnsID
        )
        let isAwaited = attempt.run.entries[0].fields.isAwaited
        self.report(
            .transmissionError(
                rejection,
                tag: isAwaited ? nil : Tag(attempt.run.entries[0].tag),
                notification: attempt.run.notification(at: 0),
                device: attempt.run.device(at: 0)
            )
        )
    }

    /// Waits before the next attempt, if deadline, expiration and room allow it; returns until when.
    ///
    /// - Parameter asked: the seconds that the answer asked for, in place of the shortest wait.
    private mutating func delay(
        _ attempt: Attempt,
        _ waits: ClosedRange<Duration>,
        asked: UInt32?,
        _ rejection: Rejection,
        now: Moment
    ) -> NIODeadline? {
        let entry = attempt.run.entries[0]
        let first = asked.map { TimeAmount.seconds(max(Int64($0), 1)) } ?? TimeAmount(waits.lowerBound)
        let longest = max(first, TimeAmount(waits.upperBound))
        let (doubled, isTooLong) = first.nanoseconds.multipliedReportingOverflow(by: 1 << Int64(min(entry.retries, 16)))
        let wait = isTooLong ? longest.nanoseconds : min(doubled, longest.nanoseconds)
        // Up to a quarter more, so that what failed together does not come back together.
        let jitter = Int64.random(in: 0...wait / 4, using: &self.generator)
        let due = now.monotonic + .nanoseconds(wait + jitter)
        let isExpired =
            entry.fields.hasExpiration && entry.expiration != 0
            && Int64(entry.expiration) <= Int64(now.epochSeconds) + (wait + jitter) / 1_000_000_000
        guard due < attempt.submitted + self.deadline, !isExpired, !self.delayed.isFull else {
            self.finallyRejected(attempt, rejection)
            return nil
        }
        attempt.run.entries[0].retries = min(entry.retries, .max - 1) + 1
        self.delayed.insert(attempt, due: due)
        return due
    }
}
