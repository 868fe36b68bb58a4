package import FerryCore
package import FerryMachine
internal import NIOCore

/// The ends of connections, and the decision when it is unknown how far the peer had read.
extension BinaryClient {
    /// Notes that a connection ended or was not made. First give ``received(_:_:handed:now:)`` all bytes that came on
    /// it.
    ///
    /// - Parameter handed: the total number of bytes that the system took of the stream below TLS.
    package mutating func ended(_ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment) {
        guard let lane = self.lane(of: id) else { return }
        if lane.connection.establishedID == nil {
            self.notConnected(lane, id, end, now: now)
        } else {
            self.endedOpen(lane, id, end, handed: handed, now: now)
        }
        self.advance(now: now)
    }

    private mutating func notConnected(_ lane: Lane, _ id: ConnectionID, _ end: ConnectionEnd, now: Moment) {
        guard case .attempt(_, let start) = lane.connection.close() else { return }
        let error: ProviderError
        switch end {
        case .credentialsRejected(let cause) where self.isFinal(cause, of: lane):
            return self.giveUp(lane, cause, now: now)
        case .credentialsRejected(let cause), .lost(let cause), .notConnected(let cause):
            error = cause
        case .endOfStream:
            error = ProviderError(.connectFailed, "The peer closed the connection before it was established.")
        }
        self.report(.socketError(id, error))
        if self.isFinal(error, of: lane) { return self.giveUp(lane, error, now: now) }
        self.failed(lane, .failure(error), since: start, now: now)
    }

    private mutating func endedOpen(_ lane: Lane, _ id: ConnectionID, _ end: ConnectionEnd, handed: UInt64, now: Moment)
    {
        var lastWord = LastWord.none
        switch end {
        case .credentialsRejected(let error) where lane.connection.presumedCount == 0:
            // With TLS 1.3 the peer can refuse the credentials after notifications were written. A peer that was silent for
            // the settle time has taken them before.
            let isFinal = self.isFinal(error, of: lane)
            if isFinal { self.outcomes.failed(error) } else { self.report(.socketError(id, error)) }
            return self.tookNothing(lane, error, isFinal: isFinal, now: now)
        case .lost(let error), .notConnected(let error), .credentialsRejected(let error):
            self.report(.socketError(id, error))
            lastWord = .failure(error)
        case .endOfStream:
            break
        }
        if lane.connection.isTruncated { lastWord = .truncated }
        let cause: PositionUnknown = lane.connection.silence.isStalled ? .noCulprit : .wordless
        let ending = self.positionUnknown(lane, cause, lastWord: lastWord, handed: handed, now: now)
        self.closed(lane, ending, now: now)
    }

    /// Decides about the unsettled notifications of a connection on which no further response can come.
    ///
    /// | the connection ended with | its notifications | `.resend` | `.report` |
    /// |---|---|---|---|
    /// | a refusal without a name | the only notification that it ever carried | rejected, inferred | the same |
    /// | | others | a search | uncertain, and a narrower window |
    /// | bytes of another protocol | before the probe of a shutdown | uncertain | the same |
    /// | | others | again, and a narrower window | uncertain, and a narrower window |
    /// | no word | before the probe of a shutdown | uncertain | the same |
    /// | no word, status 10, or a stall | silent for the settle time, in a shutdown by probe | uncertain | the same |
    /// | | others | again; the third time in a row without progress a search | uncertain |
    /// | status 10, after three errors without a name | copies after the outcome | contradicted | the same |
    /// | | before the probe of a shutdown that the peer answered without a name | uncertain | the same |
    /// | status 10, or a stall | all others | again, and a narrower window | uncertain, and a narrower window |
    /// | no visible acknowledgements | all | uncertain | the same |
    ///
    /// Notifications that never left always go to the front of the queue.
    ///
    /// - Returns: the meaning of the end for the next connection.
    mutating func positionUnknown(
        _ lane: Lane,
        _ cause: PositionUnknown,
        lastWord: LastWord,
        handed: UInt64,
        now: Moment
    ) -> Ending {
        switch lane.connection.probe?.purpose {
        case .end, .room: self.probePermission.notAnswered(now: now.monotonic, using: &self.jitter)
        case .search: self.searchProbePermission.notAnswered(now: now.monotonic, using: &self.jitter)
        case nil: break
        }
        // Otherwise a peer that ends connections before it answers a probe would get these notifications for ever.
        var unprovedTo: UInt64?
        switch cause {
        case .wordless, .noCulprit:
            if !lane.connection.isFinishing { self.presumeUnproved(lane, .closed, now: now) }
            unprovedTo = self.unprovedTo(lane)
        case .culprit, .violation, .unseen:
            break
        }
        var remains = lane.connection.takeRemains(handed: handed)
        if let unprovedTo { self.settle(remains.take(before: unprovedTo), as: .uncertain(.positionUnknown)) }
        self.requeue(remains.neverLeft, on: lane)
        switch cause {
        case .culprit(let status) where remains.isSole:
            self.blame(remains, status, on: lane, now: now)
        case .culprit(let status):
            if self.suspect(remains, status, on: lane, now: now) { return .step }
        case .violation where remains.isBehindLastProbe, .wordless where remains.isBehindLastProbe:
            // The caller asked for proof. Silence could accept another copy if no probe follows it.
            self.settle(remains.mayHaveLeft, as: .uncertain(.positionUnknown))
        case .unseen:
            lane.endSearch()
            self.settle(remains.mayHaveLeft, as: .uncertain(.positionUnknown))
        case _ where remains.onWire == 0:
            break
        case .violation, .noCulprit:
            // Without a name, only the outcomes so far show the progress.
            self.narrowWindow(lane, now: now)
            var copied = remains.mayHaveLeft
            // The peer speaks, so it may have taken the copies. On a broken path they have hardly arrived.
            if case .response = lastWord { copied = self.giveUpInterrupted(among: copied, on: lane, now: now) }
            self.repeatOrReport(copied, on: lane)
        case .wordless:
            if self.closedWithoutWord(remains, on: lane) { return .step }
        }
        return .failure(lastWord)
    }
}
