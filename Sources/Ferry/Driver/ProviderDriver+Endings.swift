internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The calls that wait until a driver has settled or ended.
struct DriverEndings {
    struct Waiter {
        var call: UInt64
        var deadline: Scheduled<Void>
    }

    var drains: [Waiter] = []
    var shutdowns: [Waiter] = []
    /// Whether the shutdown is complete.
    var isFinished = false
    /// Whether the provider ends because its last reference was dropped.
    var wasDropped = false
}

/// Drains and shutdowns.
extension ProviderDriver where Machine: ~Copyable {
    func drain(within limit: TimeAmount, call: UInt64) {
        self.run()
        let deadline = self.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.endings.drains.removeAll { $0.call == call }
            self.calls.answer(call, with: self.report)
        }
        self.endings.drains.append(.init(call: call, deadline: deadline))
        self.checkEndings()
    }

    func shutDown(within limit: TimeAmount, proof: Proof, call: UInt64) {
        self.queue.close()
        self.run()
        let deadline = self.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.abandon(undelivered: .shutDown, uncertain: .shutDown)
        }
        self.endings.shutdowns.append(.init(call: call, deadline: deadline))
        self.machine.shutDown(proof: proof, now: .now)
        self.run()
    }

    /// Gives every notification its outcome now.
    func abandon(undelivered: Outcome.UndeliveredCause, uncertain: Outcome.UncertainCause) {
        self.endings.wasDropped = undelivered == .released
        self.queue.close()
        self.run()
        let handed = self.connections.mapValues(\.transport.handed)
        self.machine.abandon(
            undelivered: undelivered,
            uncertain: uncertain,
            handed: { handed[$0] ?? 0 },
            now: .now
        )
        self.run()
    }

    /// Ends the provider after its loop has ended. The loop has closed the channels already. Does nothing after a
    /// shutdown.
    func loopEnded() {
        guard !self.endings.isFinished else { return }
        self.hasLoopEnded = true
        self.abandon(undelivered: .shutDown, uncertain: .shutDown)
    }

    private var report: DrainReport {
        let outcomes = self.machine.outcomes
        return DrainReport(
            outcomes: outcomes.counts,
            unsettled: self.machine.queuedCount + self.machine.unsettledCount,
            contradicted: outcomes.contradicted,
            resent: outcomes.resent,
            unproved: outcomes.unproved,
            strayBytes: outcomes.strayBytes,
            lastError: self.lastError
        )
    }

    /// Answers the drains and shutdowns that are complete.
    func checkEndings() {
        if self.machine.isSettled, !self.endings.drains.isEmpty {
            let drains = self.endings.drains
            self.endings.drains = []
            self.complete(drains)
        }
        if self.machine.isFinished, !self.endings.isFinished {
            self.endings.isFinished = true
            self.loopEnd?.cancel()
            self.stopTimer()
            self.tellObserver()
            self.logEnd(self.report)
            self.events.finish()
            self.stream?.finish()
            self.calls.end(with: self.report)
        }
        if self.endings.isFinished {
            let shutdowns = self.endings.shutdowns
            self.endings.shutdowns = []
            self.complete(shutdowns)
        }
    }

    private func complete(_ waiters: [DriverEndings.Waiter]) {
        for waiter in waiters {
            waiter.deadline.cancel()
            self.calls.answer(waiter.call, with: self.report)
        }
    }
}
