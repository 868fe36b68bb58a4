package import FerryCore
package import FerryMachine
package import NIOCore

/// What happens with time.
extension BinaryClient {
    /// Notes what the operating system said about a connection.
    package mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment) {
        guard let index = self.lane(of: id) else { return }
        let settles = self.settlesBySilence(index)
        let quietTime = self.quietTime(index)
        let end = self.lanes[index].connection?.silence.look(
            sample,
            settleTime: self.delay.settleTime,
            quietTime: quietTime,
            settles: settles,
            now: now.monotonic
        )
        if let end = end.flatMap({ $0 }) { self.presume(before: end, on: index, now: now) }
        if let quietTime, let quietFor = self.lanes[index].connection?.silence.quietFor, quietFor >= quietTime {
            self.windowCleared(index)
        }
        if let stalledFor = self.lanes[index].connection?.silence.stalledFor, stalledFor >= Silence.stallLimit,
            // What is to be proved needs no acknowledgement to show.
            sample.acknowledged != nil || settles
        {
            self.stalled(index, sample, now: now)
        }
        self.advance(now: now)
    }

    /// Nothing was acknowledged for too long: the peer will not say how far it has read.
    private mutating func stalled(_ index: Int, _ sample: TransportSample, now: Moment) {
        let seconds = Silence.stallLimit.nanoseconds / 1_000_000_000
        let message =
            sample.acknowledged == nil
            ? "This system does not say what the peer's TCP has acknowledged, and \(seconds) s have passed."
            : "The peer's TCP has acknowledged nothing for \(seconds) s."
        if let id = self.lanes[index].connectionID {
            self.report(.socketError(id, ProviderError(.connectionLost, message + " The connection is given up.")))
        }
        // Where acknowledgements do not show, they would not show for another copy either.
        let cause: Unknown = sample.acknowledged == nil ? .unseen : .noCulprit
        self.positionUnknown(index, cause, handed: sample.handed, now: now)
        self.hangUp(index, now: now)
    }

    /// The window of a search was silent for the quiet time.
    private mutating func windowCleared(_ index: Int) {
        guard let cache = self.lanes[index].connection?.cache else { return }
        self.lanes[index].connection?.clearedTo = cache.next
        self.lanes[index].isolation?.cleared(onWire: cache.unsettledCount)
    }

    /// How long a window of the lane's search for a culprit must be silent; nil when no window waits for that.
    private func quietTime(_ index: Int) -> TimeAmount? {
        guard let isolation = self.lanes[index].isolation, isolation.allowance <= 0, !self.lanes[index].queue.isEmpty
        else { return nil }
        return isolation.quietTime(settleTime: self.delay.settleTime)
    }

    /// When ``tick(now:)`` has something to do; nil when never.
    package var nextDeadline: NIODeadline? {
        var next: NIODeadline?
        func consider(_ deadline: NIODeadline?) {
            guard let deadline else { return }
            next = min(next ?? deadline, deadline)
        }
        for (index, lane) in self.lanes.enumerated() {
            if case .waiting(let until) = lane.dial, !lane.queue.isEmpty { consider(until) }
            guard let connection = lane.connection else { continue }
            consider(self.nextLook(index))
            consider(connection.finishingUntil)
            consider(self.objectionDeadline(connection))
            consider(self.probeDeadline(connection))
            consider(lane.window.nextChange)
            consider(connection.cache.history.first.map { $0.settledAt + self.delay.memory })
            consider(self.idleDeadline(lane))
            if self.probesAfterRest(lane, connection), self.canProbe, lane.queue.isEmpty, connection.isWritable,
                connection.cache.unsettledCount > 0, connection.probe == nil
            {
                consider(connection.activeAt + self.delay.settleTime)
            }
        }
        return next
    }

    private func nextLook(_ index: Int) -> NIODeadline? {
        let settleTime = self.delay.settleTime
        return self.lanes[index].connection?.silence.nextLook(for: min(self.quietTime(index) ?? settleTime, settleTime))
    }

    /// When the answer to the connection's probe is overdue; nil when none is awaited.
    private func probeDeadline(_ connection: Connection) -> NIODeadline? {
        guard let probe = connection.probe, probe.isAwaited else { return nil }
        let isAutomatic = probe.purpose == .end && self.proof == .automatic
        return probe.writtenAt + (isAutomatic ? Self.automaticProbeLimit : Self.probeLimit)
    }

    /// Whether a shutdown proves what was written last: everything is written, and a probe may follow.
    var isProving: Bool {
        self.isShuttingDown && self.proof != .silence && self.canProbe && self.queuedCount == 0
    }

    /// Whether a probe follows when the connection carried nothing for a settle time, whatever was acknowledged.
    private func probesAfterRest(_ lane: Lane, _ connection: Connection) -> Bool {
        guard self.isProving else { return self.options.finality == .proof }
        return lane.isolation == nil && !connection.silence.showsAcknowledgements
    }

    /// Why no probe is written.
    var unasked: Unproved.Cause { self.options.command == .simple ? .noIdentifiers : .notAsked }

    /// Whether the end of a run keeps a connection open on which silence has settled everything: until a probe proves it
    /// or, where there is none, until an error response would have come. Some gateways close at a half-close, and say
    /// nothing of what they were about to refuse.
    func awaitsObjection(_ connection: Connection, now: Moment) -> Bool {
        guard self.proof != .silence, connection.presumedCount > 0 else { return false }
        return self.canProbe || now.monotonic < connection.activeAt + max(Self.lingerLimit, self.delay.settleTime)
    }

    /// When ``awaitsObjection(_:now:)`` ends; nil where nothing is awaited, or a probe.
    private func objectionDeadline(_ connection: Connection) -> NIODeadline? {
        guard self.isShuttingDown, self.proof != .silence, !self.canProbe, self.isSettled,
            !connection.isFinishing, connection.probe == nil, connection.cache.unsettledCount == 0,
            connection.presumedCount > 0
        else { return nil }
        return connection.activeAt + max(Self.lingerLimit, self.delay.settleTime)
    }

    /// Whether silence settles anything on the lane's connection: not while a shutdown proves it, and with `finality:
    /// .proof` only where no probe may be written, or in a search at the end of a run.
    private func settlesBySilence(_ index: Int) -> Bool {
        if let probe = self.lanes[index].connection?.probe, probe.isAwaited, probe.purpose == .end { return false }
        // A probe behind a suspect would hide who is to blame, and without an outcome the search would not end.
        if self.isProving { return self.lanes[index].isolation != nil }
        return self.options.finality == .silence || !self.canProbe
    }

    private func idleDeadline(_ lane: Lane) -> NIODeadline? {
        guard self.connectionTimeout > .zero, lane.queue.isEmpty, let connection = lane.connection,
            connection.cache.unsettledCount == 0, !connection.isFinishing, connection.probe?.isAwaited != true
        else { return nil }
        return connection.activeAt + self.connectionTimeout
    }

    /// Does what is due.
    package mutating func tick(now: Moment) {
        let time = now.monotonic
        self.delay.decay(now: time)
        if let again = self.probesAgainAt, time >= again { self.probesAgainAt = nil }
        for index in self.lanes.indices {
            guard let connection = self.lanes[index].connection else { continue }
            if let deadline = connection.finishingUntil, time >= deadline {
                self.hangUp(index, now: now)
                continue
            }
            if let deadline = self.probeDeadline(connection), time >= deadline {
                self.probeTimedOut(index, now: now)
                continue
            }
            if let deadline = self.idleDeadline(self.lanes[index]), time >= deadline {
                self.report(.timeout(connection.id))
                self.finish(index, now: now)
                continue
            }
            self.lanes[index].connection?.cache.forget(
                settledUntil: time - self.delay.memory,
                stubLimit: Self.stubLimit
            )
            self.widenWindow(index, now: time)
            if let look = self.nextLook(index), time >= look {
                self.act(.sample(connection.id))
            }
        }
        self.advance(now: now)
    }

    private mutating func widenWindow(_ index: Int, now: NIODeadline) {
        let limit = self.unsettledLimit
        guard self.lanes[index].acceptedSinceError > 0 else {
            // More in flight would not be accepted sooner, and cost more at the next end.
            return self.lanes[index].window.wait(settleTime: self.delay.settleTime, now: now)
        }
        let changed = self.lanes[index].window.widen(limit: limit, settleTime: self.delay.settleTime, now: now)
        if changed { self.report(.windowAdjusted(self.lanes[index].window.size ?? limit)) }
    }

    /// Takes the next step wherever one became possible.
    mutating func advance(now: Moment) {
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
    }
}
