internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The probes: when the client writes one, and its reaction to an answer or to a missing answer.
extension BinaryClient {
    /// Whether a probe can be answered now. Command 0 has no identifiers, and some peers do not answer.
    var canProbe: Bool { self.probePermission.isGiven && self.options.command != .simple }

    /// Whether the lane should probe now, because it has no other work.
    func wantsProbe(_ lane: Lane, now: Moment) -> Bool {
        guard self.canProbe, let open = lane.connection.open else { return false }
        let unsettledCount = lane.connection.cache.unsettledCount
        if self.isProving, unsettledCount + lane.connection.presumedCount > 0 {
            // While an error response is on its way, the answer to a probe would confirm notifications that the peer
            // discarded.
            let isSearching = lane.search != nil && unsettledCount > 0 && !self.provesWindow(lane)
            return !isSearching && self.isSilent(lane.connection, open, now: now)
        }
        guard unsettledCount > 0 else { return false }
        if self.provesWindow(lane) {
            guard self.isWindowWritten(lane), let quietFor = lane.connection.silence.quietFor else { return false }
            return quietFor >= self.delay.probeQuietTime
        }
        if lane.queue.isEmpty {
            return self.options.finality == .proof && now.monotonic >= open.activeAt + self.delay.settleTime
        }
        guard !self.isPaused else { return false }
        return switch self.options.finality {
        case .proof: self.room(lane) == 0
        case .silence: self.options.probeWhenHeld && self.options.cachePolicy == .hold && self.cacheRoom <= 0
        }
    }

    /// Whether a probe follows when the connection was idle for a settle time, even without acknowledgements.
    func probesAfterRest(_ lane: Lane) -> Bool {
        // In a search, silence counts only when the peer's system has acknowledged everything.
        if self.provesWindow(lane) { return false }
        guard self.isProving else { return self.options.finality == .proof }
        return lane.search == nil && !lane.connection.silence.showsAcknowledgements
    }

    /// Whether the peer has been silent for a settle time about everything that was written.
    private func isSilent(
        _ connection: borrowing BinaryConnection,
        _ open: BinaryConnection.Open,
        now: Moment
    ) -> Bool {
        let settleTime = self.delay.settleTime
        guard connection.cache.unsettledCount > 0 else { return true }
        guard connection.silence.showsAcknowledgements else { return now.monotonic >= open.activeAt + settleTime }
        return connection.silence.quietFor.map { $0 >= settleTime } ?? false
    }

    mutating func writeProbe(_ lane: Lane, into buffer: inout ByteBuffer, now: Moment) {
        let purpose: Probe.Purpose = self.isProving ? .end : self.provesWindow(lane) ? .search : .room
        let sequence = lane.connection.wroteProbe(purpose, now: now.monotonic)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: NotificationEncoder.probeLength) { target in
            guard let base = target.baseAddress else { return 0 }
            return NotificationEncoder.writeProbe(identifier: Identifier.of(sequence), to: base)
        }
    }

    /// Settles everything before the probe as accepted. The peer judges in order, so its answer proves that.
    mutating func answered(_ probe: Probe, on lane: Lane, now: Moment) {
        self.probePermission.answered()
        if probe.purpose == .search { self.searchProbePermission.answered() }
        self.confirm(before: probe.sequence, on: lane, now: now)
        lane.connection.proved()
        switch probe.purpose {
        // A peer that does not judge in order may still send an error response.
        case .end: self.finish(lane, unproved: .noAnswer, now: now)
        case .room, .search: self.hangUp(lane, now: now)
        }
    }

    /// Handles a probe that the peer did not answer in time.
    mutating func probeTimedOut(_ lane: Lane, now: Moment) {
        self.probePermission.notAnswered(now: now.monotonic, using: &self.jitter)
        if lane.connection.probe?.purpose == .search {
            self.searchProbePermission.notAnswered(now: now.monotonic, using: &self.jitter)
            lane.probeSaidNothing()
            self.repeatOrReport(lane.connection.takeRemains(handed: .max).mayHaveLeft, on: lane)
            return self.hangUp(lane, .step, now: now)
        }
        self.presumeEarned(lane, now: now)
        guard lane.connection.cache.unsettledCount > 0 else {
            return self.finish(lane, unproved: .noAnswer, now: now)
        }
        self.settle(lane.connection.takeRemains(handed: .max).mayHaveLeft, as: .uncertain(.positionUnknown))
        self.hangUp(lane, .failure(.silence), now: now)
    }
}
