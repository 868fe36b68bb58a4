package import FerryCore
package import FerryMachine
internal import NIOCore

/// The end of a run.
extension BinaryClient {
    /// Sends what was taken and then finishes every connection: half-closed, until the peer has read everything.
    package mutating func shutDown(proof: Proof, now: Moment) {
        self.stage = .shuttingDown(proof)
        self.settleDown(now: now)
    }

    /// Gives everything that has no outcome one now, and closes every connection.
    ///
    /// - Parameter handed: how many bytes of the stream below TLS the system took, for each connection.
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

    /// During a shutdown: finishes what is settled, unless it is to be proved.
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

    /// Whether a shutdown wants proof of what was written last.
    private var wantsProof: Bool {
        switch self.stage.proof {
        case .automatic, .probe: true
        case .silence, nil: false
        }
    }

    /// Whether a shutdown proves what was written last: everything is written, and a probe may follow.
    var isProving: Bool { self.wantsProof && self.canProbe && self.queuedCount == 0 }

    /// Why no probe is written.
    var unasked: Unproved.Cause { self.options.command == .simple ? .noIdentifiers : .notAsked }

    /// Whether the end of a run keeps a connection open on which silence has settled everything: until a probe proves it
    /// or, where there is none, until an error response would have come. Some gateways close at a half-close, and say
    /// nothing of what they were about to refuse.
    private func awaitsObjection(_ connection: borrowing BinaryConnection, _ open: BinaryConnection.Open, now: Moment)
        -> Bool
    {
        guard self.wantsProof, connection.presumedCount > 0 else { return false }
        return self.canProbe || now.monotonic < self.objectionsEnd(open)
    }

    /// When ``settleDown(now:)`` finishes a connection on which an objection is awaited; nil where none is, or a probe is.
    func objectionDeadline(_ connection: borrowing BinaryConnection, _ open: BinaryConnection.Open) -> NIODeadline? {
        guard self.wantsProof, !self.canProbe, self.isSettled, connection.presumedCount > 0 else { return nil }
        return self.objectionsEnd(open)
    }

    private func objectionsEnd(_ open: BinaryConnection.Open) -> NIODeadline {
        open.activeAt + max(Self.lingerLimit, self.delay.settleTime)
    }

    /// Proof that a shutdown asked for cannot be had: what silence had earned counts.
    ///
    /// Else a peer that ends connections sooner than a probe is answered would be sent the last notifications for ever.
    mutating func presumeUnproved(_ lane: Lane, _ cause: Unproved.Cause, now: Moment) {
        self.presumeEarned(lane, now: now)
        self.leaveUnproved(lane, cause)
    }

    /// Gives what silence had earned its outcome. Where acknowledgements do not show, it had earned nothing.
    mutating func presumeEarned(_ lane: Lane, now: Moment) {
        guard case .automatic = self.stage.proof, lane.connection.silence.showsAcknowledgements else { return }
        let probe = lane.connection.probe.flatMap { $0.purpose == .end ? $0.sequence : nil }
        if let end = probe ?? lane.connection.silence.earnedTo { self.presume(before: end, on: lane, now: now) }
    }

    /// Notes what was presumed on a connection and is not proved.
    mutating func leaveUnproved(_ lane: Lane, _ cause: Unproved.Cause) {
        guard self.wantsProof, self.queuedCount == 0, !lane.connection.isFinishing else { return }
        self.outcomes.leaveUnproved(lane.connection.presumedCount, cause)
    }
}
