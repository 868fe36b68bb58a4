internal import FerryCore
package import FerryMachine
package import NIOCore

/// The deadlines, and the actions that are due at them.
extension BinaryClient {
    /// When ``tick(now:)`` is due; nil for never.
    package var nextDeadline: NIODeadline? {
        self.lanes.reduce(nil) { Self.earlier(Self.earlier($0, self.deadline(of: $1)), self.lateAt($1)) }
    }

    /// When the oldest queued notification of a lane reaches its deadline; nil for never.
    private func lateAt(_ lane: Lane) -> NIODeadline? {
        guard let deadline, let first = lane.queue.first else { return nil }
        return first.submitted + deadline
    }

    private func deadline(of lane: Lane) -> NIODeadline? {
        let next: NIODeadline? =
            switch lane.connection.state {
            case .idle: nil
            case .dialling: nil
            case .waiting(let until): lane.queue.isEmpty ? nil : until
            case .open(let open): self.deadline(of: lane, open)
            case .probing(let probing): self.deadline(of: probing.probe)
            case .finishing(let finishing): finishing.until
            }
        guard lane.connection.establishedID != nil else { return next }
        let forgets = lane.connection.cache.history.first.map { $0.settledAt + self.delay.memory }
        return Self.earlier(
            Self.earlier(next, self.nextLook(lane)),
            Self.earlier(lane.window.nextChange, forgets)
        )
    }

    private static func earlier(_ first: NIODeadline?, _ second: NIODeadline?) -> NIODeadline? {
        guard let first, let second else { return first ?? second }
        return min(first, second)
    }

    private func deadline(of lane: Lane, _ open: BinaryConnection.Open) -> NIODeadline? {
        guard lane.queue.isEmpty else { return nil }
        guard lane.connection.cache.unsettledCount == 0 else {
            let probes = open.isWritable && self.canProbe && self.probesAfterRest(lane)
            return probes ? open.activeAt + self.delay.settleTime : nil
        }
        return Self.earlier(self.objectionDeadline(lane.connection, open), self.idleDeadline(lane, open))
    }

    /// When the answer to a probe is overdue.
    private func deadline(of probe: Probe) -> NIODeadline {
        switch (probe.purpose, self.stage.proof) {
        case (.end, .automatic): probe.writtenAt + Self.automaticProbeLimit
        case (.end, _), (.room, _): probe.writtenAt + Self.probeLimit
        case (.search, _):
            // An answer takes no longer than an error response.
            probe.writtenAt + min(self.delay.settleTime + self.delay.settleTime, Self.automaticProbeLimit)
        }
    }

    /// When an open connection without unsettled notifications has been idle for too long; nil for never.
    private func idleDeadline(_ lane: Lane, _ open: BinaryConnection.Open) -> NIODeadline? {
        guard let idleTimeout, lane.queue.isEmpty, lane.connection.cache.unsettledCount == 0 else { return nil }
        return open.activeAt + idleTimeout
    }

    private func nextLook(_ lane: Lane) -> NIODeadline? {
        let settleTime = self.delay.settleTime
        return lane.connection.silence.nextLook(for: min(self.quietTime(lane) ?? settleTime, settleTime))
    }

    /// Carries out due work.
    package mutating func tick(now: Moment) {
        self.learnDelay(now: now.monotonic)
        self.probePermission.tick(now: now.monotonic)
        self.searchProbePermission.tick(now: now.monotonic)
        for lane in self.lanes {
            self.giveUpLate(lane, now: now)
            self.tick(lane, now: now)
        }
        self.advance(now: now)
    }

    /// Gives up the queued notifications of a lane whose deadline has passed.
    private mutating func giveUpLate(_ lane: Lane, now: Moment) {
        while let late = self.lateAt(lane), late <= now.monotonic, let run = lane.takeQueued(atMost: .max) {
            let cause: Outcome.UndeliveredCause = lane.connection.open == nil ? .noConnection : .deadline
            self.outcomes.give(.undelivered(cause), tainted: .uncertain(.notRepeated), to: run, isFinal: true)
            self.suspectsLeft(lane, [run], now: now)
        }
    }

    private mutating func tick(_ lane: Lane, now: Moment) {
        let time = now.monotonic
        guard let id = lane.connection.establishedID else { return }
        if let open = lane.connection.open, let deadline = self.idleDeadline(lane, open), time >= deadline {
            self.report(.timeout(id))
            return self.finish(lane, unproved: self.unasked, now: now)
        }
        if let probe = lane.connection.probe, time >= self.deadline(of: probe) {
            return self.probeTimedOut(lane, now: now)
        }
        if let deadline = lane.connection.finishingUntil, time >= deadline {
            return self.hangUp(lane, now: now)
        }
        lane.connection.forget(settledUntil: time - self.delay.memory, stubLimit: Self.stubLimit)
        self.widenWindow(lane, now: time)
        if let look = self.nextLook(lane), time >= look { self.act(.sample(id)) }
    }

    private mutating func widenWindow(_ lane: Lane, now: NIODeadline) {
        let limit = self.unsettledLimit
        if lane.widenWindow(limit: limit, settleTime: self.delay.settleTime, now: now) {
            self.report(.windowAdjusted(lane.window.size ?? limit))
        }
    }

    /// Takes the next step on every lane where one is possible.
    mutating func advance(now: Moment) {
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
    }
}
