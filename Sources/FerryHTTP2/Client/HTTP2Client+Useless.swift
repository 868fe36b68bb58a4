internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// Connections on which the peer does no work, although it answers.
extension HTTP2Client {
    /// Handles a server error (5xx).
    ///
    /// If the connection is at fault, the notification is sent once more on another. It waits while other requests may
    /// show that.
    mutating func failedOnServer(
        _ request: WrittenAttempt,
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

    /// Leaves a connection if it is useless. A connection that the peer closes after errors alone counts, too.
    ///
    /// - Parameter hasRead: whether its events were read now. If so, one error is enough while sending is only tried.
    mutating func judgeConduct(of id: ConnectionID, hasRead: Bool, now: Moment) {
        self.connections[id].conduct.tick(now: now.monotonic, underWay: self.connections[id].underWay)
        let conduct = self.connections[id].conduct
        guard !conduct.isCounted else { return }
        let isOver = self.connections[id].isOverByPeer
        let failsOnTrial =
            self.outage.isTrying && conduct.hasFailed && (isOver || hasRead && !self.connections[id].isLeaving)
        if conduct.isUseless || failsOnTrial {
            self.leaveUseless(id, now: now)
        } else if isOver, conduct.isFruitless {
            self.count(id, isUseless: false, now: now)
        } else if self.suspects.count > 0, self.connections[id].underWay == 0, !self.hasWork {
            // No other request can show whether the connection is at fault.
            self.clearSuspects(of: id, now: now)
        }
    }

    private mutating func leaveUseless(_ id: ConnectionID, now: Moment) {
        if !self.connections[id].isLeaving {
            let error = ProviderError(.connectionLost, "\(self.fault(of: id)): new requests go to another.")
            self.report(.socketError(id, error))
            // The outage sets the time of the next connection.
            self.connections[id].excuse()
            self.dialling.leftUseless(now: now.monotonic)
            self.leave(id, now: now)
        }
        self.count(id, isUseless: true, now: now)
    }

    private func fault(of id: ConnectionID) -> String {
        "\(self.peer) \(self.connections[id].conduct.fault) on a connection"
    }

    /// Reports a connection to the outage, and sends its failed notifications elsewhere.
    ///
    /// - Parameter isUseless: whether the connection alone shows that it is of no use, without a second one.
    private mutating func count(_ id: ConnectionID, isUseless: Bool, now: Moment) {
        self.connections[id].conduct.count()
        self.sendElsewhere(self.suspects.take(of: id))
        let action = self.outage.found(
            id,
            isUseless: isUseless,
            newest: self.dialling.lastID,
            now: now.monotonic,
            using: &self.generator
        )
        guard action == .report else { return }
        let fault = self.fault(of: id)
        let message =
            "\(fault) after the other, and does no work: sending pauses, and one notification at a time is tried. The others "
            + "wait until their deadline."
        self.report(.error(ProviderError(.tooManyRejections, message)))
    }
}
