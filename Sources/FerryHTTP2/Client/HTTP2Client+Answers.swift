internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension HTTP2Client {
    /// Handles APNs' answer to a request.
    mutating func answered(_ request: WrittenAttempt, _ answer: PushAnswer, on id: ConnectionID, now: Moment) {
        let rule = answer.retryRule
        // An answer about the connection alone does not permit the next connection at once.
        if rule != .elsewhere { self.dialling.answered(since: self.connections[id].since, now: now.monotonic) }
        if let window = self.connections[id].answered(answer, earned: &self.earned) {
            self.report(.windowAdjusted(window))
        }
        if rule != .elsewhere, !answer.isServerError {
            self.outage.served(on: id)
            if self.suspects.count > 0 { self.clearSuspects(of: id, now: now) }
        }
        if self.isForEarlierKey(answer, request) { return self.sendAgain([request.attempt]) }
        let isMoving = rule == .onNewConnection && !request.attempt.wasMoved && self.keyMove.mayMove(from: id)
        if rule != .onNewConnection { self.keyMove.answered(on: id) }
        if !isMoving { self.countAnswer(answer, now: now) }
        guard let rejection = answer.rejection else {
            return self.outcomes.give(
                .accepted(.confirmed),
                to: request.attempt.run,
                writtenAt: request.written,
                apnsID: answer.apnsID ?? request.attempt.apnsID,
                apnsUniqueID: answer.uniqueID
            )
        }
        let usable = isMoving || rule != .onNewConnection ? rule : nil
        self.rejected(request, rejection, usable, answer.retryAfter, on: id, now: now)
    }

    /// Counts an answer for the circuit breaker, and reports it if sending stops.
    private mutating func countAnswer(_ answer: PushAnswer, now: Moment) {
        // An expired token is replaced, and needs no other reaction.
        guard answer.retryRule != .withNewToken else { return }
        let stops = self.breaker.answered(
            countsAgainstConnection: answer.countsAgainstConnection,
            refusesProvider: answer.status == .forbidden,
            now: now.monotonic,
            using: &self.generator
        )
        guard stops else { return }
        let reason = answer.reason ?? .unknown
        let code: ProviderError.Code = answer.status == .forbidden ? .credentialsRejected : .tooManyRejections
        self.report(
            .error(
                ProviderError(
                    code,
                    "\(self.peer) rejects one notification after the other, the last with \(reason): sending "
                        + "pauses, because APNs closes connections for it. \(reason.explanation ?? "")",
                    isLasting: false
                )
            )
        )
    }
}
