package import FerryCore
package import FerryMachine
internal import NIOCore

extension HTTP2Client {
    // MARK: Making

    /// Makes a connection if there is work that no connection can take, as fast as dialling is allowed.
    mutating func connectIfNeeded(now: Moment) {
        guard self.dialling.current == nil, self.hasWork, !self.outage.isWaiting,
            self.lateDeadline.map({ $0 <= now.monotonic }) ?? true,
            self.connections.needMore(
                limit: max(self.options.maxConnections, 1),
                queued: self.fresh.count + self.again.count
            ),
            let id = self.dialling.begin(now: now.monotonic)
        else { return }
        self.act(.dial(id))
    }

    /// When the next connection may be made, because others wait for late answers only; nil for at once, or if only an
    /// event can change the state.
    var lateDeadline: NIODeadline? {
        guard self.limits.waitsForLateAnswers, self.dialling.current == nil, self.dialling.deadline == nil else {
            return nil
        }
        return self.connections.lateDeadline(after: self.limits.attemptTimeout)
    }

    /// Notes that a connection is made, TLS included.
    package mutating func connected(_ id: ConnectionID, now: Moment) {
        guard let start = self.dialling.end(id) else { return }
        do {
            self.connections.append(
                try HTTP2Connection(id: id, limits: self.limits, earned: self.earned, now: now)
            )
            self.report(.connected(id, open: self.connections.count))
            self.leaveReplaced(now: now)
        } catch {
            self.act(.close(id))
            self.dialFailed(id, ProviderError(.connectFailed, "No HTTP/2 session: \(error)"), since: start, now: now)
        }
        self.connectIfNeeded(now: now)
    }

    /// Leaves the connections that the newest one replaces.
    private mutating func leaveReplaced(now: Moment) {
        while let id = self.connections.replaced(limit: max(self.options.maxConnections, 1)) {
            if self.connections[id].isDoubtful {
                let message =
                    "\(self.peer) did not answer a PING in time: a new connection takes the requests. The path may have "
                    + "forgotten the connection."
                self.report(.socketError(id, ProviderError(.connectionLost, message)))
                self.connections[id].giveUpPing()
            }
            self.leave(id, now: now)
        }
    }

    // MARK: Ends

    /// Notes that a connection ended or could not be made.
    ///
    /// - Parameter handed: the number of bytes that the system took of the stream below TLS.
    package mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment) {
        if let start = self.dialling.end(id) {
            switch end {
            case .credentialsRejected(let error), .lost(let error), .notConnected(let error):
                self.dialFailed(id, error, since: start, now: now)
            case .endOfStream:
                let error = ProviderError(.connectFailed, "\(self.peer) closed the connection at once.")
                self.dialFailed(id, error, since: start, now: now)
            }
        } else if self.connections.contains(id) {
            self.bury(id, end, handed: handed, now: now)
        }
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
    }

    /// Takes back the requests of a connection that is gone, and forgets the connection.
    private mutating func bury(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment) {
        self.connections[id].end()
        // A connection that we closed on purpose has no trouble, whatever the system says of its end.
        let isOurs = self.connections[id].isFinished && end.error?.isLasting != true
        let error = isOurs ? nil : end.error ?? self.tunnelError(of: id)
        if let error { self.outcomes.failed(error) }
        if case .credentialsRejected = end {
            // The peer read no requests, so it processed none.
            while let (request, _) = self.connections[id].nextLost(handed: 0) {
                self.queueAgain(self.written.take(request.slot).attempt)
            }
        }
        self.settle(id, error, handed: handed, now: now)
        self.judgeConduct(of: id, hasRead: true, now: now)
        self.clearSuspects(of: id, now: now)
        var connection = self.connections.remove(id)
        self.keep(connection.takePings())
        self.report(.disconnected(id, open: self.connections.count))
        if let error { self.report(.socketError(id, error)) }
        if let error, self.isFinal(error) { return self.giveUp(error, now: now) }
        // An unused connection that we closed on purpose has not failed.
        guard connection.isUsed || !connection.isFinished, connection.countsAsFailure() else { return }
        self.failed(error ?? connection.farewell(peer: self.peer), since: now.monotonic, now: now)
    }

    /// The error for a connection through a proxy that ended without a word, with requests on it; nil for any other end.
    /// Without a proxy, only the peer can have ended it. A tunnel that nobody used is closed by many a proxy.
    private func tunnelError(of id: ConnectionID) -> ProviderError? {
        guard self.hasProxy, self.connections[id].underWay > 0, self.connections[id].farewell(peer: self.peer) == nil
        else { return nil }
        return ProviderError(
            .connectionLost,
            "The tunnel to \(self.peer) ended before its requests were answered: the proxy or the server behind it closed "
                + "it."
        )
    }

    /// Settles or repeats the requests of a connection that is gone.
    private mutating func settle(_ id: ConnectionID, _ error: ProviderError?, handed: UInt64, now: Moment) {
        var repeated: [Attempt] = []
        var hasUnknown = false
        while let (lost, fate) = self.connections[id].nextLost(handed: handed) {
            let request = self.written.take(lost.slot)
            switch fate {
            case .answered(let answer):
                self.answered(request, answer, on: id, now: now)
            case .unknown:
                hasUnknown = true
                // An answer before it ended the trouble.
                if let error { self.outcomes.failed(error) }
                if let attempt = self.unknown(request.attempt, .positionUnknown) { repeated.append(attempt) }
            case .unsent:
                repeated.append(request.attempt)
            }
        }
        self.sendAgain(repeated)
        if hasUnknown { self.learn(from: id, .unknown) }
    }

    /// Drops a connection that is of no more use, and settles or repeats its requests.
    mutating func drop(_ id: ConnectionID, _ error: ProviderError, now: Moment) {
        self.act(.close(id))
        // This code does not know how many bytes the system took. All of them is the safe assumption: a request counts
        // as unsent only with proof.
        self.ended(id, .lost(error), handed: .max, now: now)
    }

    // MARK: Leaving

    /// Stops new requests on a connection. Sends GOAWAY and closes it when the last request was answered.
    mutating func leave(_ id: ConnectionID, now: Moment) {
        if self.connections[id].leave(now: now.monotonic) == .finish { self.act(.finish(id)) }
    }

    /// Ends a connection that is to be left and has no request under way.
    mutating func finishIfDone(_ id: ConnectionID, now: Moment) {
        if self.connections[id].finishIfDone(now: now.monotonic) == .finish { self.act(.finish(id)) }
    }

    // MARK: Failures

    private mutating func dialFailed(_ id: ConnectionID, _ error: ProviderError, since start: NIODeadline, now: Moment)
    {
        self.report(.socketError(id, error))
        if self.isFinal(error) { return self.giveUp(error, now: now) }
        // The failed attempt began at `start`, so its duration counts, too.
        self.failed(error, since: start, now: now)
    }

    /// Counts a connection that has brought no answer, once.
    ///
    /// - Parameter error: the reason why the connection is of no use; nil for the peer's last word.
    mutating func countFailure(of id: ConnectionID, _ error: ProviderError? = nil, now: Moment) {
        guard self.connections[id].countsAsFailure() else { return }
        let error = error ?? self.connections[id].farewell(peer: self.peer)
        self.failed(error, since: now.monotonic, now: now)
    }

    /// Counts a connection without an answer; gives up the queue after too many.
    ///
    /// - Parameter error: the reason why the connection ended; nil if the peer gave none.
    private mutating func failed(_ error: ProviderError?, since start: NIODeadline, now: Moment) {
        switch self.dialling.failed(since: start, now: now.monotonic, using: &self.generator) {
        case .dialAgain: break
        case .giveUp(let failures, let first):
            let message =
                "Within \(now.seconds(since: first)) s \(failures) connections in a row failed or brought "
                + "no answer; what was queued is given up. "
                + (error?.message ?? "\(self.peer) closed the last without a word.")
            self.report(.error(ProviderError(.connectionRetryLimit, message, cause: error)))
            self.giveUpQueue(.noConnection, .positionUnknown)
        }
    }

    /// Whether the error gives up the queue without a retry. It does not while another connection is open, because only
    /// one of several servers behind the name may be bad.
    private func isFinal(_ error: ProviderError) -> Bool {
        self.dialling.isFinal(error) && self.connections.isEmpty
    }

    /// Gives up the queue because of an error that no retry can cure.
    private mutating func giveUp(_ error: ProviderError, now: Moment) {
        self.report(.error(error))
        self.giveUpQueue(error.code == .credentialsRejected ? .credentials : .noConnection, .notRepeated)
        self.dialling.gaveUp(now: now.monotonic, using: &self.generator)
    }
}
