package import FerryCore
package import FerryMachine
package import NIOCore

/// What happens with time.
extension BinaryClient {
    /// Notes what the operating system said about a connection.
    package mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment) {
        guard let index = self.lane(of: id) else { return }
        let settleTime = self.settleTime(index)
        let settles = self.lanes[index].connection.map { self.settlesBySilence($0) } ?? false
        let end = self.lanes[index].connection?.silence
            .look(sample, settleTime: settleTime, settles: settles, now: now.monotonic)
        if let end = end.flatMap({ $0 }) { self.presume(before: end, on: index, now: now) }
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

    private mutating func presume(before end: UInt64, on index: Int, now: Moment) {
        for written in self.lanes[index].connection?.cache.settle(before: end, at: now.monotonic) ?? [] {
            self.outcomes.give(.accepted(.presumed), to: written.run)
            self.progressed(index, by: written.run.count)
            self.cleared(written.run.count, on: index)
        }
        self.endIsolationIfOver(index)
    }

    /// Notes that `count` suspects of the lane were accepted.
    mutating func cleared(_ count: Int, on index: Int) {
        let onWire = self.lanes[index].connection?.cache.unsettledCount ?? 0
        self.lanes[index].isolation?.cleared(count, onWire: onWire)
    }

    mutating func endIsolationIfOver(_ index: Int) {
        if self.lanes[index].isolation?.isOver == true { self.lanes[index].isolation = nil }
    }

    /// How long the peer must be silent on this lane.
    private func settleTime(_ index: Int) -> TimeAmount {
        guard let isolation = self.lanes[index].isolation, !isolation.isWordless else { return self.delay.settleTime }
        return self.delay.quietTime
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
            consider(connection.silence.nextLook(settleTime: self.settleTime(index)))
            consider(connection.finishingUntil)
            consider(connection.probe.map { $0.writtenAt + Self.probeLimit })
            consider(lane.window.nextChange)
            consider(connection.cache.history.first.map { $0.settledAt + self.delay.memory })
            consider(self.idleDeadline(lane))
            if self.options.finality == .proof, self.canProbe, lane.queue.isEmpty, connection.isWritable,
                connection.cache.unsettledCount > 0, connection.probe == nil
            {
                consider(connection.activeAt + self.delay.settleTime)
            }
        }
        return next
    }

    /// Whether silence settles anything on the connection. With `finality: .proof` only while there is no other way, and
    /// never while a probe that the shutdown asked for may be answered.
    private func settlesBySilence(_ connection: Connection) -> Bool {
        if self.isShuttingDown, self.provesAtShutdown, connection.probe != nil { return false }
        return self.options.finality == .silence || !self.canProbe
    }

    private func idleDeadline(_ lane: Lane) -> NIODeadline? {
        guard self.connectionTimeout > .zero, lane.queue.isEmpty, let connection = lane.connection,
            connection.cache.unsettledCount == 0, !connection.isFinishing
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
            if let probe = connection.probe, time >= probe.writtenAt + Self.probeLimit {
                self.positionUnknown(index, .wordless, handed: .max, now: now)
                self.hangUp(index, now: now)
                continue
            }
            if let deadline = self.idleDeadline(self.lanes[index]), time >= deadline {
                self.report(.timeout(connection.id))
                self.lanes[index].connection?.finishingUntil = time + Self.lingerLimit
                self.act(.finish(connection.id))
                continue
            }
            self.lanes[index].connection?.cache.forget(
                settledUntil: time - self.delay.memory,
                stubLimit: Self.stubLimit
            )
            self.widenWindow(index, now: time)
            if let look = connection.silence.nextLook(settleTime: self.settleTime(index)), time >= look {
                self.act(.sample(connection.id))
            }
        }
        self.advance(now: now)
    }

    private mutating func widenWindow(_ index: Int, now: NIODeadline) {
        let changed = self.lanes[index].window.widen(
            cacheLength: self.effectiveCacheLength,
            settleTime: self.delay.settleTime,
            now: now
        )
        if changed { self.report(.windowAdjusted(self.lanes[index].window.size ?? self.effectiveCacheLength)) }
    }

    /// Takes the next step wherever one became possible.
    mutating func advance(now: Moment) {
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
    }
}
