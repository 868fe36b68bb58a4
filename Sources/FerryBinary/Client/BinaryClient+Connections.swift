package import FerryCore
package import FerryMachine
internal import NIOCore

/// The start and the end of connections.
extension BinaryClient {
    /// The meaning of a connection's end for the next connection.
    enum Ending {
        /// A search continues: the next connection follows after the first wait.
        case step
        /// The connection was of no use, unless it had proved a notification.
        case failure(LastWord)
    }

    /// Dials for the lanes with work, as fast as dialling is allowed.
    mutating func connectIfNeeded(now: Moment) {
        for lane in self.lanes where lane.connection.isFinishing && !lane.queue.isEmpty {
            // The connection was half-closed because it was idle. Now there is work again.
            self.hangUp(lane, now: now)
        }
        for lane in self.lanes where lane.connection.mayBeDialled(now: now.monotonic) {
            self.connect(lane, now: now)
        }
    }

    private mutating func connect(_ lane: Lane, now: Moment) {
        guard !lane.queue.isEmpty else { return lane.connection.rest() }
        switch self.dials.request(now: now.monotonic) {
        case .later(let time):
            lane.connection.wait(until: time)
        case .granted(let id):
            lane.connection.dial(id, now: now.monotonic)
            self.act(.dial(id))
        }
    }

    package mutating func connected(_ id: ConnectionID, now: Moment) {
        guard let lane = self.lane(of: id),
            lane.connection.opened(firstSequence: self.options.firstSequence, now: now.monotonic)
        else { return }
        self.report(.connected(id, open: self.openCount))
        self.advance(now: now)
    }

    /// Half-closes the connection of a lane. The peer may still send an error response.
    ///
    /// - Parameter unproved: the reason why its presumed outcomes could not be proved.
    mutating func finish(_ lane: Lane, unproved: Unproved.Cause, now: Moment) {
        self.leaveUnproved(lane, unproved)
        let deadline = now.monotonic + max(Self.lingerLimit, self.delay.settleTime)
        self.act(.finish(lane.connection.finish(until: deadline)))
    }

    /// Closes the connection at once, because the peer discards further bytes anyway.
    mutating func hangUp(_ lane: Lane, _ ending: Ending = .failure(.none), now: Moment) {
        guard let id = lane.connection.establishedID else { return }
        self.act(.close(id))
        self.closed(lane, ending, now: now)
    }

    /// Cleans up after a lane's connection. Its unsettled notifications must have been handled before.
    mutating func closed(_ lane: Lane, _ ending: Ending, now: Moment) {
        guard case .connection(_, wasOfUse: false) = self.disconnect(lane) else { return }
        switch ending {
        case .step:
            lane.connection.wait(until: now.monotonic + lane.failures.firstWait)
        case .failure(let lastWord):
            self.failed(lane, lastWord, since: now.monotonic, now: now)
            if lane.violations >= Self.violationLimit {
                lane.connection.wait(until: now.monotonic + lane.failures.longestWait)
            }
        }
    }

    @discardableResult
    mutating func disconnect(_ lane: Lane) -> BinaryConnection.Closed {
        let closed = lane.disconnect()
        if case .connection(let id, _) = closed { self.report(.disconnected(id, open: self.openCount)) }
        return closed
    }

    /// Notes that a connection of the lane was of no use.
    ///
    /// - Parameter start: when the attempt began, if it led to no connection; otherwise now.
    mutating func failed(_ lane: Lane, _ lastWord: LastWord, since start: NIODeadline, now: Moment) {
        switch lane.failed(since: start, now: now.monotonic, using: &self.jitter) {
        case .dialAgain(let wait):
            lane.connection.wait(until: now.monotonic + wait)
        case .giveUp(let failures, let since, _):
            let message =
                "Within \(now.seconds(since: since)) s \(failures) connections in a row failed; what was queued is "
                + "given up. " + lastWord.sentence
            self.report(.error(ProviderError(.connectionRetryLimit, message, cause: lastWord.cause)))
            self.giveUpQueue(lane, undelivered: .noConnection, uncertain: .positionUnknown)
            lane.endSearch()
            lane.forgiveFailures()
            lane.connection.wait(until: now.monotonic + lane.failures.firstWait)
        }
    }

    /// Whether the error of a lane's connection gives up the queue without a retry. It does not while there is another
    /// connection or an attempt, because only one of several servers behind the name may be bad.
    func isFinal(_ error: ProviderError, of failed: Lane) -> Bool {
        self.lanes.allSatisfy { $0.failures.isFinal(error) && ($0 === failed || $0.connection.id == nil) }
    }

    /// Gives up the queue because of an error that no retry can cure.
    mutating func giveUp(_ lane: Lane, _ error: ProviderError, now: Moment) {
        self.report(.error(error))
        for lane in self.lanes {
            self.giveUpQueue(lane, undelivered: Self.cause(error), uncertain: .notRepeated)
            // A search would wait for suspects that have their outcome now.
            lane.endSearch()
        }
        lane.connection.wait(until: now.monotonic + lane.refused(using: &self.jitter))
    }

    /// Gives up a connection whose peer showed that it took no notification. With `isFinal` its notifications and the
    /// queue are given up, too. Otherwise its notifications are sent again.
    mutating func tookNothing(_ lane: Lane, _ error: ProviderError, isFinal: Bool, now: Moment) {
        // Silence may have settled some of them. Those were not delivered either.
        let written = lane.connection.takeAll()
        lane.endSearch()
        guard isFinal else {
            self.resend(self.endEvicted(written, on: lane, as: .undelivered(Self.cause(error))), on: lane)
            self.disconnect(lane)
            return self.failed(lane, .failure(error), since: now.monotonic, now: now)
        }
        let outcome = Outcome.undelivered(Self.cause(error))
        for run in self.endEvicted(written, on: lane, as: outcome) {
            self.outcomes.give(outcome, tainted: .uncertain(.notRepeated), to: run)
        }
        self.disconnect(lane)
        self.giveUp(lane, error, now: now)
    }

    private static func cause(_ error: ProviderError) -> Outcome.UndeliveredCause {
        error.code == .credentialsRejected ? .credentials : .noConnection
    }

    /// Gives an outcome to the queued notifications of a lane.
    mutating func giveUpQueue(
        _ lane: Lane,
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause
    ) {
        for run in lane.takeQueue() {
            self.outcomes.give(.undelivered(undelivered), tainted: .uncertain(uncertain), to: run)
        }
    }
}
