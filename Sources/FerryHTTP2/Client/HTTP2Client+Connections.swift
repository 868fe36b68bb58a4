package import FerryCore
package import FerryMachine
internal import NIOCore

extension HTTP2Client {
    func connection(_ id: ConnectionID) -> HTTP2Connection? {
        // One connection is the rule, so this is the first.
        self.connections.first { $0.id == id }
    }

    // MARK: Dialling

    /// Makes a connection when there is work that none takes, as fast as dialling is allowed.
    mutating func connectIfNeeded(now: Moment) {
        guard self.dialing == nil, self.hasWork else { return }
        if let first = self.connections.first(where: { !$0.isLeaving }) {
            guard self.connections.count(where: { !$0.isLeaving }) < max(self.options.maxConnections, 1),
                self.connections.allSatisfy({ $0.isLeaving || $0.isSaturated }),
                self.fresh.count + self.again.count >= first.window.size
            else { return }
        }
        if let until = self.waitsToDialUntil {
            guard until <= now.monotonic else { return }
            self.waitsToDialUntil = nil
        }
        if let later = self.dialLimiter.take(now: now.monotonic) {
            self.waitsToDialUntil = later
            return
        }
        let id = self.takeConnectionID()
        self.dialing = id
        self.dialedAt = now.monotonic
        self.act(.dial(id))
    }

    /// A connection is made, TLS included.
    package mutating func connected(_ id: ConnectionID, now: Moment) {
        guard self.dialing == id else { return }
        self.dialing = nil
        let window = StreamWindow(
            limit: self.maxStreams,
            earned: self.earned.size(answered: 0),
            startsWithOne: self.usesTokens
        )
        do {
            let connection = try HTTP2Connection(id: id, window: window, now: now.monotonic)
            self.connections.append(connection)
            self.report(.connected(id, open: self.connections.count))
        } catch {
            self.act(.close(id))
            self.failed(ProviderError(.connectFailed, "No HTTP/2 session: \(error)"), id, now: now)
        }
        self.connectIfNeeded(now: now)
    }

    // MARK: Ends

    /// A connection ended, or could not be made.
    ///
    /// - Parameter handed: how many bytes of the stream below TLS the system took.
    package mutating func ended(_ id: ConnectionID, _ end: End, handed: UInt64, now: Moment) {
        if self.dialing == id {
            self.dialing = nil
            switch end {
            case .credentialsRejected(let error): self.credentialsRejected(error, id, now: now)
            case .lost(let error), .notConnected(let error): self.failed(error, id, now: now)
            case .endOfStream:
                self.failed(
                    ProviderError(.connectFailed, "\(self.authority) closed the connection at once."),
                    id,
                    now: now
                )
            }
        } else if let index = self.connections.firstIndex(where: { $0.id == id }) {
            let connection = self.connections.remove(at: index)
            connection.isGone = true
            if case .credentialsRejected = end {
                // Nobody listened, so nothing was processed.
                while let (stream, _) = connection.inFlight.first, let request = connection.inFlight.remove(stream) {
                    self.queueAgain(request.attempt)
                }
            }
            self.settle(connection, handed: handed, now: now)
            self.report(.disconnected(id, open: self.connections.count))
            switch end {
            case .credentialsRejected(let error): self.credentialsRejected(error, id, now: now)
            case .lost(let error), .notConnected(let error): self.endedEarly(connection, error, now: now)
            case .endOfStream: self.endedEarly(connection, nil, now: now)
            }
        }
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
    }

    private mutating func endedEarly(_ connection: HTTP2Connection, _ error: ProviderError?, now: Moment) {
        if let error, !connection.isFinished { self.report(.socketError(connection.id, error)) }
        // A connection that was never used and is closed on purpose has not failed.
        guard connection.isUsed || !connection.isFinished else { return }
        self.countFailure(of: connection, error ?? self.farewell(of: connection), now: now)
    }

    /// What the peer said of the end of a connection; nil when it said nothing.
    func farewell(of connection: HTTP2Connection) -> ProviderError? {
        switch connection.lastWord {
        case .goAway(let goAway):
            ProviderError(.connectionLost, "\(self.authority) closes the connection: \(goAway).")
        case .reset(let errorCode):
            ProviderError(
                .connectionLost,
                "\(self.authority) reset a request on the last, and closed it: \(errorCode)."
            )
        case .answer(let reason):
            ProviderError(.connectionLost, "\(self.authority) answered \(reason) on the last, and closed it.")
        case .violation: self.violation(nil)
        case nil: nil
        }
    }

    /// - Parameter detail: what is wrong, if that is known.
    func violation(_ detail: HTTP2Error?) -> ProviderError {
        let detail = detail.map { ": \($0)" } ?? "."
        return ProviderError(.protocolViolation, "\(self.authority) does not speak HTTP/2 correctly\(detail)")
    }

    /// Says what becomes of the requests of a connection that is gone.
    private mutating func settle(_ connection: HTTP2Connection, handed: UInt64, now: Moment) {
        var repeated: [Attempt] = []
        var hasUnknown = false
        while let (stream, _) = connection.inFlight.first, let request = connection.inFlight.remove(stream) {
            if let answer = connection.session.answer(of: stream) {
                self.answered(request, answer, on: connection, now: now)
            } else if connection.mayHaveArrived(stream, request, handed: handed) {
                hasUnknown = true
                if let attempt = self.unknown(request.attempt, .positionUnknown) { repeated.append(attempt) }
            } else {
                repeated.append(request.attempt)
            }
        }
        self.sendAgain(repeated)
        if hasUnknown { self.learn(from: connection, .unknown) }
    }

    /// Notes what the end of a connection costs, once; or twice, where a GOAWAY promised answers that did not come.
    ///
    /// - Parameter expected: how many answers are still to come on it.
    mutating func learn(from connection: HTTP2Connection, _ loss: EarnedWindow.Loss, expected: Int = 0) {
        guard connection.loss == nil || loss == .unknown && connection.loss != .unknown else { return }
        connection.loss = loss
        self.narrow(answered: connection.answered + expected, loss)
    }

    /// Lets more requests be under way on a connection that has had a window of answers.
    ///
    /// One that has the whole limit already has nothing more to prove: others may be ending meanwhile.
    mutating func widen(_ connection: HTTP2Connection) {
        guard connection.window.earned < self.maxStreams, !connection.isGone else { return }
        connection.window.earned = self.earned.proved(answered: connection.answered)
    }

    /// Narrows the window of every connection after a loss.
    mutating func narrow(answered: Int, _ loss: EarnedWindow.Loss) {
        let before = self.earned.size(answered: 0)
        self.earned.ended(answered: answered, loss)
        for connection in self.connections {
            connection.window.earned = self.earned.size(answered: connection.answered)
        }
        let size = self.earned.size(answered: 0)
        if size != before { self.report(.windowAdjusted(size)) }
    }

    private mutating func failed(_ error: ProviderError, _ id: ConnectionID, now: Moment) {
        self.report(.socketError(id, error))
        // The time of an attempt that came to nothing counts, too.
        if self.failures == 0 { self.failingSince = self.dialedAt }
        self.countFailure(error, now: now)
    }

    /// Counts a connection that has brought no answer, once.
    mutating func countFailure(of connection: HTTP2Connection, _ error: ProviderError?, now: Moment) {
        guard !connection.hasAnswer, !connection.isCounted else { return }
        connection.isCounted = true
        if self.failures == 0 { self.failingSince = now.monotonic }
        self.countFailure(error, now: now)
    }

    /// Counts a connection without an answer, waits before the next, and gives up after too many.
    ///
    /// - Parameter error: why it ended; nil when the peer said nothing.
    private mutating func countFailure(_ error: ProviderError?, now: Moment) {
        self.failures += 1
        let limit = RetryLimit(count: self.options.connectionRetryLimit, time: self.options.connectionRetryTime)
        let wait = self.dialBackOff.fail(using: &self.generator)
        let failures = self.failures
        guard limit.isReached(failures, since: self.failingSince, now: now.monotonic) else {
            self.waitToDial(limit.bounded(wait, since: self.failingSince, now: now.monotonic), now: now)
            return
        }
        self.waitToDial(wait, now: now)
        self.failures = 0
        self.report(
            .error(
                ProviderError(
                    .connectionRetryLimit,
                    "Within \(now.seconds(since: self.failingSince)) s \(failures) connections in a row failed or brought "
                        + "no answer; what was queued is given up. "
                        + (error?.message ?? "\(self.authority) closed the last without a word."),
                    cause: error
                )
            )
        )
        self.giveUpQueue(.noConnection, .positionUnknown)
    }

    private mutating func credentialsRejected(_ error: ProviderError, _ id: ConnectionID, now: Moment) {
        self.report(.socketError(id, error))
        self.report(.error(error))
        self.giveUpQueue(.credentials, .notRepeated)
        self.waitToDial(self.dialBackOff.fail(using: &self.generator), now: now)
    }

    /// Makes no connection for so long.
    mutating func waitToDial(_ wait: TimeAmount, now: Moment) {
        let until = now.monotonic + wait
        self.waitsToDialUntil = max(self.waitsToDialUntil ?? until, until)
    }

    // MARK: Leaving

    /// Makes no more requests on a connection; says GOAWAY and closes it once the last was answered.
    ///
    /// Not earlier: SETTINGS may hold requests back in the session, and between a GOAWAY and the next of them it drops
    /// what comes.
    mutating func leave(_ connection: HTTP2Connection, now: Moment) {
        if !connection.isLeaving {
            connection.isLeaving = true
            connection.owesGoAway = true
        }
        self.finishIfDone(connection, now: now)
    }

    /// Ends a connection that is to be left and has nothing under way.
    mutating func finishIfDone(_ connection: HTTP2Connection, now: Moment) {
        guard connection.isLeaving, connection.inFlight.count == 0, !connection.isFinished, !connection.isGone
        else { return }
        if connection.lingersUntil == nil { connection.lingersUntil = now.monotonic + Self.lingerLimit }
        if connection.owesGoAway {
            connection.owesGoAway = false
            connection.session.goAway()
        }
        guard !connection.session.wantsToWrite else { return }
        self.finish(connection, now: now)
    }

    /// Ends a connection that has nothing more to say.
    mutating func finish(_ connection: HTTP2Connection, now: Moment) {
        connection.isLeaving = true
        connection.isFinished = true
        connection.lingersUntil = now.monotonic + Self.lingerLimit
        self.act(.finish(connection.id))
    }

    /// Drops a connection that is of no use any more, with what became of its requests.
    mutating func drop(_ connection: HTTP2Connection, _ error: ProviderError, now: Moment) {
        self.act(.close(connection.id))
        // What was handed to the system is not known here: all of it, to be safe.
        self.ended(connection.id, .lost(error), handed: .max, now: now)
    }
}

extension HTTP2Connection {
    /// Whether APNs may have the request: all of it was written, and the first byte of it may have left.
    ///
    /// The system is asked for whole writes only. Of the first that it did not take whole it may have taken a part.
    func mayHaveArrived(_ stream: HTTP2Session.Stream, _ request: InFlight.Request, handed: UInt64) -> Bool {
        self.session.isSent(stream) && handed >= request.sentFrom
    }
}
