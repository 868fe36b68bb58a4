package import FerryCore
package import FerryMachine
internal import NIOCore

/// The end of a run.
extension BinaryClient {
    /// Sends everything that was submitted. Then finishes every connection: half-closes it and waits until the peer has
    /// read everything.
    package mutating func shutDown(proof: Proof, now: Moment) {
        self.stage = .shuttingDown(proof)
        self.settleDown(now: now)
    }

    /// Gives an outcome to every notification without one, and closes every connection.
    ///
    /// - Parameter handed: for each connection, the number of bytes that the system took of the stream below TLS.
    package mutating func abandon(
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause,
        handed: (ConnectionID) -> UInt64,
        now: Moment
    ) {
        if !self.isShuttingDown { self.stage = .shuttingDown(.silence) }
        for lane in self.lanes {
            self.presumeUnproved(lane, .noAnswer, now: now)
            if let id = lane.connection.establishedID {
                let remains = lane.connection.takeRemains(handed: handed(id))
                self.settle(remains.mayHaveLeft, as: .uncertain(uncertain))
                for written in remains.neverLeft {
                    self.outcomes.give(.undelivered(undelivered), tainted: .uncertain(uncertain), to: written.run)
                }
            }
            self.giveUpQueue(lane, undelivered: undelivered, uncertain: uncertain)
            switch lane.connection.close() {
            case .nothing: break
            case .attempt(let id, _): self.act(.close(id))
            case .connection(let id, _):
                self.act(.close(id))
                self.report(.disconnected(id, open: self.openCount))
            }
        }
        self.checkCompleted(now: now)
    }

    mutating func checkCompleted(now: Moment) {
        guard self.isSettled else { return }
        if self.isIncomplete {
            self.isIncomplete = false
            self.report(.completed)
        }
        if self.isShuttingDown { self.settleDown(now: now) }
    }

    /// During a shutdown, finishes settled connections that need no proof.
    mutating func settleDown(now: Moment) {
        for lane in self.lanes where lane.queue.isEmpty {
            if let id = lane.connection.stopDialling() { self.act(.close(id)) }
            if let open = lane.connection.open, lane.connection.cache.unsettledCount == 0,
                !self.awaitsObjection(lane.connection, open, now: now)
            {
                self.finish(lane, unproved: self.unasked, now: now)
            }
        }
    }

    // MARK: Proof

    /// Whether a shutdown wants proof of the last notifications.
    private var wantsProof: Bool {
        switch self.stage.proof {
        case .automatic, .probe: true
        case .silence, nil: false
        }
    }

    /// Whether a shutdown proves the last notifications now: everything is written, and a probe may follow.
    var isProving: Bool { self.wantsProof && self.canProbe && self.queuedCount == 0 }

    /// The reason why no probe is written.
    var unasked: Unproved.Cause { self.options.command == .simple ? .noIdentifiers : .notAsked }

    /// Whether a connection stays open at the end of a run after silence has settled everything. It stays open until a
    /// probe proves it. Where no probe is possible, it stays open until an error response would have come. Without the
    /// wait refusals could be lost: some gateways close at a half-close and do not send the response that was due.
    private func awaitsObjection(_ connection: borrowing BinaryConnection, _ open: BinaryConnection.Open, now: Moment)
        -> Bool
    {
        guard self.wantsProof, connection.presumedCount > 0 else { return false }
        return self.canProbe || now.monotonic < self.objectionsEnd(open)
    }

    /// When ``settleDown(now:)`` finishes a connection that waits for an error response; nil if it does not wait or a
    /// probe decides.
    func objectionDeadline(_ connection: borrowing BinaryConnection, _ open: BinaryConnection.Open) -> NIODeadline? {
        guard self.wantsProof, !self.canProbe, self.isSettled, connection.presumedCount > 0 else { return nil }
        return self.objectionsEnd(open)
    }

    private func objectionsEnd(_ open: BinaryConnection.Open) -> NIODeadline {
        open.activeAt + max(Self.lingerLimit, self.delay.settleTime)
    }

    /// Settles by the silence so far, because the shutdown cannot get its proof.
    ///
    /// Otherwise a peer that ends connections before it answers a probe would get the last notifications for ever.
    mutating func presumeUnproved(_ lane: Lane, _ cause: Unproved.Cause, now: Moment) {
        self.presumeEarned(lane, now: now)
        self.leaveUnproved(lane, cause)
    }

    /// Settles the notifications for which the silence so far is long enough.
    mutating func presumeEarned(_ lane: Lane, now: Moment) {
        guard case .automatic = self.stage.proof, let end = self.silentTo(lane) else { return }
        self.presume(before: end, on: lane, now: now)
    }

    /// The end of the notifications for which the silence so far is long enough, if the caller accepts only a probe.
    /// Silence does not settle these.
    func unprovedTo(_ lane: Lane) -> UInt64? {
        guard case .probe = self.stage.proof else { return nil }
        return self.silentTo(lane)
    }

    /// The end of the notifications for which the silence so far is long enough; nil without visible acknowledgements.
    private func silentTo(_ lane: Lane) -> UInt64? {
        guard lane.connection.silence.showsAcknowledgements else { return nil }
        let probe = lane.connection.probe.flatMap { $0.purpose == .end ? $0.sequence : nil }
        return probe ?? lane.connection.silence.earnedTo
    }

    /// Counts the presumed outcomes of a connection that are not proved.
    mutating func leaveUnproved(_ lane: Lane, _ cause: Unproved.Cause) {
        guard self.wantsProof, self.queuedCount == 0, !lane.connection.isFinishing else { return }
        self.outcomes.leaveUnproved(lane.connection.presumedCount, cause)
    }
}
