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
    /// The driver itself, while it waits to be woken.
    var keptAlive: (any ProviderLoop)?
    /// Whether the provider ends because its last reference was dropped.
    var wasDropped = false
}

/// Drains and shutdowns.
extension ProviderDriver where Machine: ~Copyable {
    func drain(within limit: TimeAmount, call: UInt64) {
        self.run()
        let deadline = self.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.endings.drains.removeAll { $0.call == call }
            self.answer(call, isLate: true)
        }
        self.endings.drains.append(.init(call: call, deadline: deadline))
        self.checkEndings()
    }

    func shutDown(within limit: TimeAmount, proof: Proof, call: UInt64) {
        self.commons.queue.close()
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
        self.commons.queue.close()
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

    /// Ends the provider after its loop has ended. The loop has closed the channels already.
    func loopEnded() {
        // The loops of a group end together, so the other drivers notice it by themselves.
        self.abandon(undelivered: .shutDown, uncertain: .shutDown)
    }

    /// Answers the drains and shutdowns that are complete.
    func checkEndings() {
        if !self.endings.drains.isEmpty, self.machine.isSettled, self.isDelivered {
            let drains = self.endings.drains
            self.endings.drains = []
            self.complete(drains)
        }
        if !self.endings.isFinished, self.machine.isFinished {
            // Another loop delivers the outcomes, and wakes this driver then. Nobody else may know it any more.
            guard self.isDelivered else { return self.endings.keptAlive = self }
            self.endings.isFinished = true
            self.endings.keptAlive = nil
            self.loop.end()
            self.tellObserver()
            if self.commons.ended(self.index) {
                let report = self.commons.report(unsettledOf: LoopSet())
                self.logEnd(report)
                self.commons.finish(report)
            }
        }
        if self.endings.isFinished {
            let shutdowns = self.endings.shutdowns
            self.endings.shutdowns = []
            self.complete(shutdowns)
        }
    }

    /// Whether the sink has the outcomes that this loop gave. One whose loop is gone cannot wait for that.
    private var isDelivered: Bool { self.loop.hasLoopEnded || !self.commons.holds(outcomesOf: self.index) }

    private func complete(_ waiters: [DriverEndings.Waiter]) {
        for waiter in waiters {
            waiter.deadline.cancel()
            self.answer(waiter.call, isLate: false)
        }
    }

    private func answer(_ call: UInt64, isLate: Bool) {
        self.commons.calls.answer(call, from: self.index, isLate: isLate) { self.commons.report(unsettledOf: $0) }
    }
}
