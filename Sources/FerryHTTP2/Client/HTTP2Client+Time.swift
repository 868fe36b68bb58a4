internal import FerryCore
package import FerryMachine
package import NIOCore

extension HTTP2Client {
    /// When ``tick(now:)`` is due; nil: not before something else happens.
    package var nextDeadline: NIODeadline? {
        var next = NIODeadline.distantFuture
        func consider(_ deadline: NIODeadline?) {
            if let deadline, deadline < next { next = deadline }
        }
        consider(self.delayed.firstDue)
        if let run = self.fresh.first { consider(run.submitted + self.deadline) }
        if let attempt = self.again.first { consider(attempt.submitted + self.deadline) }
        if self.hasWork {
            if self.dialing == nil { consider(self.waitsToDialUntil) }
            consider(self.breaker.deadline)
            if case .held(let until) = self.authorization, !self.connections.isEmpty { consider(until) }
        }
        for connection in self.connections {
            consider(connection.inFlight.firstWritten.map { $0 + self.attemptTimeout })
            if self.hasWork {
                consider(connection.pausedUntil)
                if !connection.isLeaving { consider(connection.closedSince.map { $0 + self.attemptTimeout }) }
            }
            consider(connection.lingersUntil)
            guard !connection.isFinished else { continue }
            if connection.window.settings == nil {
                consider(connection.since + self.connectTimeout)
            } else {
                consider(connection.pingDue ?? connection.lastUse + self.pingInterval)
            }
        }
        return next == .distantFuture ? nil : next
    }

    /// Time has passed.
    package mutating func tick(now: Moment) {
        while let attempt = self.delayed.popFirst(dueBy: now.monotonic) { self.queueAgain(attempt) }
        self.reportHold(now: now)
        self.giveUpLate(now: now)
        self.leaveReplacedKey(now: now)
        self.breaker.tick(now: now.monotonic)
        if let until = self.waitsToDialUntil, until <= now.monotonic { self.waitsToDialUntil = nil }
        for connection in self.connections {
            if let until = connection.pausedUntil, until <= now.monotonic { connection.pausedUntil = nil }
            self.tick(connection, now: now)
        }
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
    }

    /// Gives what waited past its deadline its outcome.
    private mutating func giveUpLate(now: Moment) {
        while let first = self.fresh.first, first.submitted + self.deadline <= now.monotonic,
            let run = self.fresh.popFirst(atMost: first.count)
        {
            self.outcomes.give(.undelivered(self.lateCause), to: run)
        }
        while let attempt = self.again.first, attempt.submitted + self.deadline <= now.monotonic {
            self.again.removeFirst()
            self.giveUp(attempt, self.lateCause, .notRepeated)
        }
    }

    private mutating func tick(_ connection: HTTP2Connection, now: Moment) {
        self.timeOut(connection, now: now)
        self.leaveIfClosed(connection, now: now)
        if let until = connection.lingersUntil, until <= now.monotonic {
            self.act(.close(connection.id))
            self.ended(connection.id, .endOfStream, handed: .max, now: now)
            return
        }
        guard !connection.isFinished else { return }
        if connection.window.settings == nil, connection.since + self.connectTimeout <= now.monotonic {
            let message = "\(self.authority) took the connection and did not begin to speak HTTP/2 in time."
            return self.drop(connection, ProviderError(.connectTimeout, message), now: now)
        }
        if let due = connection.pingDue {
            guard due <= now.monotonic else { return }
            let message = "\(self.authority) did not answer a PING in time: the connection is dead."
            self.drop(connection, ProviderError(.connectionLost, message), now: now)
        } else if connection.lastUse + self.pingInterval <= now.monotonic {
            connection.session.ping()
            connection.lastUse = now.monotonic
            connection.pingDue = now.monotonic + Self.pingLimit
        }
    }

    /// Leaves a connection that has allowed no stream for long, when there is work for another.
    ///
    /// "Servers SHOULD only set a zero value for short durations; if a server does not wish to accept requests, closing the
    /// connection is more appropriate" (RFC 9113 section 6.5.2).
    private mutating func leaveIfClosed(_ connection: HTTP2Connection, now: Moment) {
        guard self.hasWork, !connection.isLeaving, let since = connection.closedSince,
            since + self.attemptTimeout <= now.monotonic
        else { return }
        let error = ProviderError(
            .connectionLost,
            "\(self.authority) allows no requests on the connection: it is left."
        )
        self.report(.socketError(connection.id, error))
        self.countFailure(of: connection, error, now: now)
        self.leave(connection, now: now)
    }

    /// Ends the requests that were not answered in time.
    private mutating func timeOut(_ connection: HTTP2Connection, now: Moment) {
        while let (stream, first) = connection.inFlight.first,
            first.written + self.attemptTimeout <= now.monotonic,
            let request = connection.inFlight.remove(stream)
        {
            let answer = connection.session.answer(of: stream)
            let isUnderstood = connection.session.isSent(stream)
            connection.session.reset(stream, errorCode: HTTP2ErrorCode.cancel.rawValue)
            if connection.lastAnswered <= request.written {
                // Not a word on any request since: whoever answers nothing for so long gets no more of them.
                let error = ProviderError(.connectionLost, "\(self.authority) answered no request in time.")
                self.countFailure(of: connection, error, now: now)
                self.leave(connection, now: now)
                if isUnderstood { self.learn(from: connection, .unknown) }
            }
            if let answer {
                self.answered(request, answer, on: connection, now: now)
            } else if !isUnderstood {
                self.sendAgain([request.attempt])
            } else if let attempt = self.unknown(request.attempt, .noAnswer) {
                self.sendAgain([attempt])
            }
        }
        self.finishIfDone(connection, now: now)
    }
}
