package import FerryCore
internal import DequeModule
package import FerryMachine
package import NIOCore

extension HTTP2Client {
    /// Bytes came on a connection.
    package mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment) {
        guard let connection = self.connection(id) else { return }
        connection.lastUse = now.monotonic
        let wasLeaving = connection.isLeaving
        do {
            try bytes.withUnsafeReadableBytes { (bytes) throws(HTTP2Error) in try connection.session.receive(bytes) }
        } catch {
            self.read(connection, now: now)
            return self.drop(connection, self.violation(error), now: now)
        }
        self.read(connection, now: now)
        if connection.excluded > 0 {
            self.learn(from: connection, .copies(connection.excluded), expected: connection.inFlight.count)
        }
        // Without a GOAWAY of the peer, it has broken the protocol: only the own one is still to be written.
        if !connection.session.takesRequests {
            connection.isLeaving = true
            connection.lastWord = connection.lastWord ?? .violation
        }
        // Not as late as its end: the next one would be on its way by then.
        if connection.isLeaving, !wasLeaving {
            self.countFailure(of: connection, self.farewell(of: connection), now: now)
        }
        self.finishIfDone(connection, now: now)
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
    }

    mutating func read(_ connection: HTTP2Connection, now: Moment) {
        while let event = connection.session.nextEvent() {
            switch event {
            case .settings(let limit):
                let before = connection.window.size
                connection.window.settingsCame(limit)
                if limit == 0, connection.firstClosed == nil { connection.firstClosed = now.monotonic }
                if connection.window.size != before { self.report(.windowAdjusted(connection.window.size)) }
            case .closed(let stream, let errorCode):
                guard let request = connection.inFlight.remove(stream) else { continue }
                self.closed(request, stream, errorCode, on: connection, now: now)
            case .ended(let stream):
                guard let request = connection.inFlight.remove(stream) else { continue }
                // What is left of the body is of no interest to a peer that has answered.
                let isSent = connection.session.isSent(stream)
                self.closed(request, stream, 0, on: connection, now: now)
                if !isSent { connection.session.reset(stream, errorCode: HTTP2ErrorCode.cancel.rawValue) }
            case .goAway(let lastStreamID, let errorCode, let debugData):
                self.goAway(connection, lastStreamID, errorCode, debugData, now: now)
            case .pingAnswered:
                connection.pingDue = nil
            case .headers:
                break
            }
        }
    }

    private mutating func goAway(
        _ connection: HTTP2Connection,
        _ lastStreamID: Int32,
        _ errorCode: UInt32,
        _ debugData: [UInt8],
        now: Moment
    ) {
        let goAway = debugData.withUnsafeBufferPointer {
            GoAway(lastStreamID: lastStreamID, errorCode: HTTP2ErrorCode(rawValue: errorCode), debugData: $0)
        }
        connection.isLeaving = true
        connection.lastWord = .goAway(goAway)
        guard goAway.errorCode != .noError || goAway.reason != nil else { return }
        if let error = self.farewell(of: connection) { self.report(.socketError(connection.id, error)) }
        // It had enough of this client: the next connection may wait. However often it says so.
        if goAway.errorCode == .enhanceYourCalm, !connection.askedForCalm {
            connection.askedForCalm = true
            self.waitToDial(self.calmBackOff.fail(using: &self.generator), now: now)
        }
    }

    /// A stream is over: what became of its request?
    private mutating func closed(
        _ request: InFlight.Request,
        _ stream: HTTP2Session.Stream,
        _ errorCode: UInt32,
        on connection: HTTP2Connection,
        now: Moment
    ) {
        connection.lastAnswered = now.monotonic
        if let answer = connection.session.answer(of: stream) {
            self.answered(request, answer, on: connection, now: now)
        } else if errorCode == HTTP2ErrorCode.refusedStream.rawValue {
            if !connection.isLeaving { connection.lastWord = .reset(.refusedStream) }
            // "The stream was refused before any application processing" (RFC 9113 section 7). Above the last stream of
            // a GOAWAY it says the same of the connection, not of its load.
            if connection.isLeaving {
                connection.excluded += 1
            } else {
                connection.window.refused()
                self.report(.windowAdjusted(connection.window.size))
                connection.pausedUntil = now.monotonic + connection.refusals.fail(using: &self.generator)
            }
            self.sendAgain([request.attempt])
        } else {
            let isUnderstood = connection.session.isSent(stream)
            if isUnderstood, connection.resets.reset(window: connection.window.size) {
                self.narrow(answered: connection.answered, .unknown)
                connection.answered = 0
            }
            let attempt = isUnderstood ? self.wasReset(request.attempt, errorCode, on: connection) : request.attempt
            guard let attempt else { return }
            connection.pausedUntil = now.monotonic + connection.refusals.fail(using: &self.generator)
            self.sendAgain([attempt])
        }
    }

    private mutating func wasReset(
        _ attempt: Attempt,
        _ errorCode: UInt32,
        on connection: HTTP2Connection
    ) -> Attempt? {
        let errorCode = HTTP2ErrorCode(rawValue: errorCode)
        let entry = attempt.run.entries[0]
        connection.lastWord = .reset(errorCode)
        self.report(.requestReset(connection.id, errorCode, tag: entry.fields.isAwaited ? nil : Tag(entry.tag)))
        return self.unknown(attempt, .reset, errorCode)
    }

    /// Nothing says whether APNs has the notification: it ends as uncertain, or is to be sent again.
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

    /// Puts attempts before everything else, in the order of their submission.
    mutating func sendAgain(_ attempts: [Attempt]) {
        guard !attempts.isEmpty else { return }
        self.report(.resent(count: attempts.count, afterOutcome: false))
        for attempt in attempts { self.queueAgain(attempt) }
    }

    mutating func queueAgain(_ attempt: Attempt) {
        var (low, high) = (self.again.startIndex, self.again.endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if attempt.run.precedes(self.again[middle].run) { high = middle } else { low = middle + 1 }
        }
        self.again.insert(attempt, at: low)
    }

    // MARK: Answers

    mutating func answered(
        _ request: InFlight.Request,
        _ answer: Answer,
        on connection: HTTP2Connection,
        now: Moment
    ) {
        let rule = answer.retryRule
        // What speaks of the connection alone is no reason to make the next one at once.
        if rule != .elsewhere {
            connection.hasAnswer = true
            connection.answered += 1
            connection.resets.answered()
            self.failures = 0
            self.dialBackOff.reset()
            if connection.since + self.calmBackOff.cap <= now.monotonic { self.calmBackOff.reset() }
        }
        if rule == .elsewhere { connection.lastWord = .answer(answer.reason ?? .unknown) }
        let before = connection.window.size
        if answer.status != .forbidden, rule != .whenThawed, connection.window.answered() { self.widen(connection) }
        if connection.window.size != before { self.report(.windowAdjusted(connection.window.size)) }
        connection.pausedUntil = nil
        connection.refusals.reset()
        if self.isForEarlierKey(answer, request) { return self.sendAgain([request.attempt]) }
        let isMoving = rule == .onNewConnection && self.mayMove(request.attempt, from: connection)
        if rule != .onNewConnection, connection.id.rawValue > self.movedFrom ?? .max { self.movedFrom = nil }
        if !isMoving { self.countAnswer(answer, now: now) }
        guard let rejection = answer.rejection else {
            let apnsID = answer.apnsID ?? request.attempt.apnsID
            self.outcomes.give(
                .accepted(.confirmed),
                to: request.attempt.run,
                apnsID: apnsID,
                apnsUniqueID: answer.uniqueID
            )
            return
        }
        let usable = isMoving || rule != .onNewConnection ? rule : nil
        self.rejected(request, rejection, usable, answer.retryAfter, on: connection, now: now)
    }

    /// Whether a new connection may be of use to a notification that was refused for the connection's key: not if this one
    /// is new for that very reason.
    private func mayMove(_ attempt: Attempt, from connection: HTTP2Connection) -> Bool {
        !attempt.wasMoved && connection.id.rawValue <= self.movedFrom ?? .max
    }

    private mutating func countAnswer(_ answer: Answer, now: Moment) {
        let counts = answer.countsAgainstConnection
        if !counts { self.isBrokenByCredentials = false }
        // A token that has expired is replaced, which is all there is to do.
        guard answer.retryRule != .withNewToken else { return }
        let stops = self.breaker.answered(
            countsAgainstConnection: counts,
            refusesProvider: answer.status == .forbidden,
            now: now.monotonic,
            using: &self.generator
        )
        guard stops else { return }
        let reason = answer.reason ?? .unknown
        self.isBrokenByCredentials = answer.status == .forbidden
        let code: ProviderError.Code = self.isBrokenByCredentials ? .credentialsRejected : .tooManyRejections
        self.report(
            .error(
                ProviderError(
                    code,
                    "\(self.authority) rejects one notification after the other, the last with \(reason): sending "
                        + "pauses, because APNs closes connections for it. \(reason.explanation ?? "")"
                )
            )
        )
    }

    private mutating func rejected(
        _ request: InFlight.Request,
        _ rejection: Rejection,
        _ rule: RetryRule?,
        _ retryAfter: UInt32?,
        on connection: HTTP2Connection,
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
            if self.movedFrom == nil { self.movedFrom = self.lastConnectionID }
            self.leave(connection, now: now)
            self.sendAgain([attempt])
        case .elsewhere:
            self.leave(connection, now: now)
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

extension HTTP2Session {
    /// The answer that came on a stream, as far as it came; nil when there was no final status.
    package func answer(of stream: Stream) -> Answer? {
        guard self.hasFinalFields(stream) else { return nil }
        var decoder = AnswerDecoder()
        self.forEachField(of: stream) { decoder.field($0, $1) }
        return self.withBody(of: stream) { decoder.answer(body: $0) }
    }
}
