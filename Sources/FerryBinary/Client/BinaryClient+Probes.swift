internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// Probes: when one is written, and what follows when it is answered or not.
extension BinaryClient {
    /// Whether proof can be had now: command 0 has no identifiers, and not every peer answers.
    var canProbe: Bool { self.probePermission.isGiven && self.options.command != .simple }

    /// Whether the lane should prove what it has written, since nothing else can be done on it.
    func wantsProbe(_ lane: Lane, now: Moment) -> Bool {
        guard self.canProbe, let open = lane.connection.open else { return false }
        let unsettledCount = lane.connection.cache.unsettledCount
        if self.isProving, unsettledCount + lane.connection.presumedCount > 0 {
            // A probe that overtakes an error response on its way would confirm what was discarded.
            let isSearching = lane.search != nil && unsettledCount > 0
            return !isSearching && self.isSilent(lane.connection, open, now: now)
        }
        guard unsettledCount > 0 else { return false }
        if lane.queue.isEmpty {
            return self.options.finality == .proof && now.monotonic >= open.activeAt + self.delay.settleTime
        }
        guard !self.isPaused else { return false }
        return switch self.options.finality {
        case .proof: self.room(lane) == 0
        case .silence: self.options.probeWhenHeld && self.options.cachePolicy == .hold && self.cacheRoom <= 0
        }
    }

    /// Whether a probe follows when the connection carried nothing for a settle time, whatever was acknowledged.
    func probesAfterRest(_ lane: Lane) -> Bool {
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
        let sequence = lane.connection.wroteProbe(self.isProving ? .end : .room, now: now.monotonic)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: NotificationEncoder.probeLength) { target in
            guard let base = target.baseAddress else { return 0 }
            return NotificationEncoder.writeProbe(identifier: Identifier.of(sequence), to: base)
        }
    }

    /// The probe was answered: the peer judges in order, so everything before it was accepted.
    mutating func answered(_ probe: Probe, on lane: Lane, now: Moment) {
        self.probePermission.answered()
        self.confirm(before: probe.sequence, on: lane, now: now)
        lane.connection.proved()
        switch probe.purpose {
        // A peer that does not judge in order may still object.
        case .end: self.finish(lane, unproved: .noAnswer, now: now)
        case .room: self.hangUp(lane, now: now)
        }
    }

    /// The peer did not answer a probe in time.
    mutating func probeTimedOut(_ lane: Lane, now: Moment) {
        self.probePermission.notAnswered(now: now.monotonic, using: &self.jitter)
        self.presumeEarned(lane, now: now)
        guard lane.connection.cache.unsettledCount > 0 else {
            return self.finish(lane, unproved: .noAnswer, now: now)
        }
        self.settle(lane.connection.takeRemains(handed: .max).mayHaveLeft, as: .uncertain(.positionUnknown))
        self.hangUp(lane, .failure(.silence), now: now)
    }
}
