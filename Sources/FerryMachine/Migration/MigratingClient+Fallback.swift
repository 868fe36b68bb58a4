internal import FerryCore
internal import NIOCore

/// The fallback: one side stands in when the other cannot deliver.
extension MigratingClient where Binary: ~Copyable, HTTP2: ~Copyable {
    /// Checks both sides. If a side went down, works again or failed its trial, devices move.
    mutating func lookAtSides(now: Moment) {
        guard self.options.fallback != nil else { return }
        let binary = self.binary.signs(answered: self.answered.binary)
        if let change = self.health.binary?.look(binary, now: now.monotonic) {
            self.apply(change, to: .binary, now: now)
        }
        let http2 = self.http2.signs(answered: self.answered.http2)
        if let change = self.health.http2?.look(http2, now: now.monotonic) {
            self.apply(change, to: .http2, now: now)
        }
    }

    /// Notes an error that ends the side's work for now.
    mutating func sideFailed(_ side: ProviderSide, now: Moment) {
        if let change = self.health[side]?.failed(now: now.monotonic) { self.apply(change, to: side, now: now) }
    }

    private mutating func apply(_ change: SideHealth.Change, to side: ProviderSide, now: Moment) {
        switch change {
        case .down:
            let isOtherBack = self.reviveIdle(side.other)
            self.report.down.insert(side)
            self.report(.down(side, self.trouble[side]))
            let groups = self.router.set(side, isDown: true)
            self.move(isOtherBack ? .all : groups, now: now)
        case .stillDown:
            self.move(self.router.setTrial(nil, of: side), now: now)
        case .up:
            self.report.down.remove(side)
            self.report(.up(side))
            self.move(self.router.set(side, isDown: false), now: now)
        }
    }

    /// Lets a side that is down try again, because the other side goes down too. A side with queued notifications
    /// tries all the time anyway, so only a side without them is revived. Returns whether the side was revived.
    private mutating func reviveIdle(_ side: ProviderSide) -> Bool {
        let queued =
            switch side {
            case .binary: self.binary.queuedCount
            case .http2: self.http2.queuedCount
            }
        guard queued == 0, self.router.down.contains(side), let fallback = self.options.fallback else { return false }
        self.health[side] = SideHealth(fallback)
        self.report.down.remove(side)
        self.report(.trial(side))
        _ = self.router.set(side, isDown: false)
        return true
    }

    /// Starts the due trial of a side that is down. The trial moves one group to the side: the group of the first
    /// device in the run that belongs to the side.
    mutating func beginTrials(_ run: BatchRun, now: Moment) {
        // While both sides are down, each keeps its own devices, and no trial is needed.
        guard self.router.down.count == 1, let side = self.router.down.first,
            self.health[side]?.isTrialDue(now: now.monotonic) == true,
            let index = (0..<run.count).first(where: {
                self.router.home(run, at: $0) == side && self.takes(run, at: $0, side)
            })
        else { return }
        let group = DeviceGroup.of(run.entries[index])
        self.health[side]?.beginTrial(of: group, now: now.monotonic)
        self.report(.trial(side))
        self.move(self.router.setTrial(group, of: side), now: now)
    }

    // MARK: Going over

    /// Takes the notifications that the sides give back. Each notification goes over to the other side, or gets the
    /// outcome with which its side gave it back. Returns whether the sides gave any notification back.
    mutating func takeReturned(now: Moment) -> Bool {
        let binary = self.binary.outcomes.takeReturned()
        let http2 = self.http2.outcomes.takeReturned()
        for item in binary.sorted(by: { $0.run.precedes($1.run) }) { self.takeReturned(item, from: .binary, now: now) }
        for item in http2.sorted(by: { $0.run.precedes($1.run) }) { self.takeReturned(item, from: .http2, now: now) }
        return !binary.isEmpty || !http2.isEmpty
    }

    private mutating func takeReturned(_ item: ReturnedRun, from side: ProviderSide, now: Moment) {
        // A side that refuses the provider during a trial fails the trial.
        if self.router.trials[side] != nil { self.sideFailed(side, now: now) }
        var start = 0
        while start < item.run.count {
            let goesOver = self.mayGoOver(item.run, at: start, from: side, now: now)
            let end = (start + 1..<item.run.count).first {
                self.mayGoOver(item.run, at: $0, from: side, now: now) != goesOver
            }
            let part = item.run.slice(start..<(end ?? item.run.count))
            if goesOver {
                self.goOver(part, item.record, from: side, now: now)
            } else {
                self.give(item.record, to: part, side)
            }
            start += part.count
        }
    }

    private func mayGoOver(_ run: BatchRun, at index: Int, from side: ProviderSide, now: Moment) -> Bool {
        if case .abandoned = self.stage { return false }
        if let deadline, run.submitted + deadline <= now.monotonic { return false }
        return !run.entries[index].marks.wentOver && !self.router.down.contains(side.other)
            && self.takes(run, at: index, side.other)
    }

    private mutating func goOver(_ run: BatchRun, _ record: OutcomeRecord, from side: ProviderSide, now: Moment) {
        var run = run
        if case .rejected = record.outcome { run.isCopy = true }
        self.noteGoingOver(run, from: side)
        // The run goes before the notifications that wait in the front, because it was submitted earlier.
        self.submit(run, to: side.other, now: now)
        for index in 0..<run.count where self.front.isMoving(run.entries[index]) {
            switch side.other {
            case .binary: self.binary.outcomes.count(run.slice(index..<index + 1))
            case .http2: self.http2.outcomes.count(run.slice(index..<index + 1))
            }
        }
    }

    mutating func noteGoingOver(_ run: BatchRun, from side: ProviderSide) {
        for index in 0..<run.count { run.entries[index].marks.wentOver = true }
        self.report.update(side) { $0.wentOver += run.count }
        self.goneOver[side] += run.count
    }

    private mutating func give(_ record: OutcomeRecord, to run: BatchRun, _ side: ProviderSide) {
        switch side {
        case .binary: self.binary.outcomes.give(record, to: run, wasReturned: true)
        case .http2: self.http2.outcomes.give(record, to: run, wasReturned: true)
        }
    }

    /// Reports the notifications that went over since the last call.
    mutating func reportGoingOver() {
        for side in ProviderSide.allCases where self.goneOver[side] > 0 {
            self.report(.wentOver(from: side, count: self.goneOver[side]))
            self.goneOver[side] = 0
        }
    }
}

extension ProviderMachine where Self: ~Copyable {
    /// The signs by which ``SideHealth`` judges whether the machine can deliver.
    fileprivate func signs(answered: Int) -> SideHealth.Signs {
        SideHealth.Signs(
            isUsable: self.hasUsableConnection,
            hasWork: self.queuedCount > self.delayedCount,
            answered: answered
        )
    }
}
