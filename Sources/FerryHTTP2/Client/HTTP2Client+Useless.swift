internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// Connections on which the peer does no work, although it answers.
extension HTTP2Client {
    /// Handles a server error (5xx).
    ///
    /// If the connection is at fault, the notification goes out once more on another. As long as other requests may show
    /// that, it waits.
    mutating func failedOnServer(
        _ request: InFlight.Request,
        _ rejection: Rejection,
        _ retryAfter: UInt32?,
        on id: ConnectionID,
        now: Moment
    ) {
        let suspect = Suspects.Suspect(
            request: request,
            rejection: rejection,
            retryAfter: retryAfter,
            connection: id,
            until: now.monotonic + Suspects.patience
        )
        if request.attempt.hadServerError {
            self.retryLater(suspect, now: now)
        } else if self.connections[id].conduct.isUseless || self.outage.isTrying {
            self.sendElsewhere(self.suspects.take(of: id) + [suspect])
        } else {
            self.suspects.append(suspect)
        }
    }

    /// Queues notifications that got a server error, for another connection.
    private mutating func sendElsewhere(_ suspects: [Suspects.Suspect]) {
        self.sendAgain(
            suspects.map { suspect in
                var attempt = suspect.request.attempt
                attempt.rejection = suspect.rejection
                attempt.hadServerError = true
                return attempt
            }
        )
    }

    /// Handles notifications whose server error was not the fault of their connection.
    mutating func clearSuspects(of id: ConnectionID, now: Moment) {
        for suspect in self.suspects.take(of: id) { self.retryLater(suspect, now: now) }
    }

    /// Handles the notifications that have waited for a decision for too long.
    mutating func clearLateSuspects(now: Moment) {
        while let suspect = self.suspects.popFirst(dueBy: now.monotonic) { self.retryLater(suspect, now: now) }
    }

    /// Delays the next attempt, as Apple asks, or gives the notification its outcome.
    private mutating func retryLater(_ suspect: Suspects.Suspect, now: Moment) {
        var attempt = suspect.request.attempt
        attempt.rejection = suspect.rejection
        _ = self.delay(
            attempt,
            Self.serverRetry,
            asked: suspect.retryAfter,
            suspect.rejection,
            writtenAt: suspect.request.written,
            now: now
        )
    }

    /// Decides about a connection: leaves it if it is useless.
    ///
    /// - Parameter hasRead: whether its events were read now. Then, while sending is only tried, one error is enough.
    mutating func judgeConduct(of id: ConnectionID, hasRead: Bool, now: Moment) {
        self.connections[id].conduct.tick(now: now.monotonic, underWay: self.connections[id].underWay)
        let conduct = self.connections[id].conduct
        if conduct.isUseless || hasRead && conduct.hasFailed && self.outage.isTrying {
            self.leaveUseless(id, now: now)
        } else if self.suspects.count > 0, self.connections[id].underWay == 0, !self.hasWork {
            // No other request can show whether the connection is at fault.
            self.clearSuspects(of: id, now: now)
        }
    }

    private mutating func leaveUseless(_ id: ConnectionID, now: Moment) {
        guard !self.connections[id].isLeaving else { return }
        let fault = "\(self.authority) \(self.connections[id].conduct.fault) on a connection"
        let error = ProviderError(.connectionLost, "\(fault): new requests go to another.")
        self.report(.socketError(id, error))
        // The outage sets the time of the next connection.
        self.connections[id].excuse()
        self.leave(id, now: now)
        self.sendElsewhere(self.suspects.take(of: id))
        let action = self.outage.foundUseless(
            id,
            newest: self.dialling.lastID,
            now: now.monotonic,
            using: &self.generator
        )
        guard action == .report else { return }
        let message =
            "\(fault) after the other, and does no work: sending pauses, and one notification at a time is tried. The others "
            + "wait until their deadline."
        self.report(.error(ProviderError(.tooManyRejections, message)))
    }
}
