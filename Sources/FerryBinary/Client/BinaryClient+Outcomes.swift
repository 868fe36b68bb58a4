internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// Outcomes, and their effect on the lane.
extension BinaryClient {
    mutating func settle(_ written: [NotificationCache.Written], as outcome: Outcome) {
        for part in written { self.outcomes.give(outcome, to: part.run, writtenAt: part.writtenAt) }
    }

    /// Settles everything before `end` as accepted, as the peer's response proves; returns how many notifications had
    /// no outcome.
    @discardableResult
    mutating func confirm(before end: UInt64, on lane: Lane, now: Moment) -> Int {
        let settled = lane.connection.confirm(before: end, now: now.monotonic)
        self.settle(settled, as: .accepted(.confirmed))
        return self.accepted(settled, isProved: true, on: lane, now: now)
    }

    /// Notes that notifications of a lane were accepted; returns how many.
    ///
    /// - Parameter isProved: whether the peer's response says so, and not silence.
    @discardableResult
    mutating func accepted(
        _ written: [NotificationCache.Written],
        isProved: Bool,
        on lane: Lane,
        now: Moment
    ) -> Int {
        let count = written.reduce(0) { $0 + $1.run.count }
        lane.progressed(by: count)
        self.narrowSearch(lane, settled: count, isProved: isProved, now: now)
        return count
    }

    /// Notes that suspects of the lane have their outcome.
    ///
    /// - Parameter isProved: whether the peer proved that it accepted them.
    mutating func narrowSearch(_ lane: Lane, settled count: Int, isProved: Bool = false, now: Moment) {
        let (step, vanished) = lane.searched(count, isProved: isProved)
        if let vanished { self.culpritVanished(among: vanished, now: now) }
        switch step {
        case .goOn, .end(wasWordless: true): break
        case .end(wasWordless: false): self.narrowWindow(lane, now: now)
        }
    }

    /// Notes that queued notifications left the lane. During a search, those that may have arrived are suspects, and
    /// the search would wait for them.
    mutating func suspectsLeft(_ lane: Lane, _ runs: [BatchRun], now: Moment) {
        guard lane.search != nil else { return }
        let count = runs.reduce(0) { sum, run in
            sum + (0..<run.count).count { run.entries[$0].marks.isTainted }
        }
        if count > 0 { self.narrowSearch(lane, settled: count, now: now) }
    }

    /// Bounds the notifications in flight by the number that is accepted before the peer ends a connection.
    ///
    /// - Parameter progress: the number accepted this time; nil if only the outcomes show it.
    mutating func narrowWindow(_ lane: Lane, progress: Int? = nil, now: Moment) {
        lane.narrowWindow(
            progress: progress,
            limit: self.unsettledLimit,
            settleTime: self.delay.settleTime,
            now: now.monotonic
        )
        if let size = lane.window.size { self.report(.windowAdjusted(size)) }
    }

    static func rejection(_ status: BinaryStatus, _ origin: Rejection.Origin) -> Rejection {
        Rejection(reason: Reason(binaryStatus: status.rawValue), origin: origin, status: Int(status.rawValue))
    }

    func transmissionError(_ rejection: Rejection, _ run: BatchRun, isCached: Bool) -> ProviderEvent {
        let entry = run.entries[0]
        return .transmissionError(
            rejection,
            tag: entry.fields.isAwaited ? nil : PushTag(entry.tag),
            notification: isCached ? run.notification(at: 0) : nil,
            device: isCached ? run.device(at: 0) : nil
        )
    }

    // MARK: Copies

    /// Puts written notifications back into the queue, for another copy.
    ///
    /// - Parameter aheadOfAll: whether they go before notifications that were submitted earlier.
    mutating func resend(_ runs: [BatchRun], on lane: Lane, aheadOfAll: Bool = false) {
        self.outcomes.hasRequeued = true
        var count = 0
        var repairs = 0
        // Each run is put at the front, so the last one comes first. Otherwise their order would be reversed.
        for var run in runs.reversed() {
            if run.entries[0].marks.isSettled { repairs += run.count } else { count += run.count }
            run.isCopy = true
            if aheadOfAll { lane.prepend(run) } else { lane.insert(run) }
        }
        if repairs > 0 {
            self.report(.resent(count: repairs, afterOutcome: true))
            self.isIncomplete = true
        }
        if count > 0 { self.report(.resent(count: count, afterOutcome: false)) }
    }

    /// Puts notifications that never left back into the queue.
    mutating func requeue(_ written: [NotificationCache.Written], on lane: Lane) {
        let runs = self.endEvicted(written, on: lane, as: .undelivered(.evicted))
        self.outcomes.hasRequeued = true
        for run in runs.reversed() {
            // A copy that never left was counted when it was written, and will be counted again. So the first count is
            // undone.
            if run.isCopy { self.outcomes.unwrote(copies: run.count) }
            lane.insert(run)
        }
    }

    /// Gives up the copies that errors without a name have interrupted too often. Copies count if their notifications
    /// have an outcome, or if the peer answered their probe at the end of a run without a name. A peer that ends each
    /// connection before the settle time has passed would otherwise be sent them for ever.
    ///
    /// - Returns: the other notifications.
    mutating func giveUpInterrupted(
        among written: [NotificationCache.Written],
        on lane: Lane,
        now: Moment
    ) -> [NotificationCache.Written] {
        var others: [NotificationCache.Written] = []
        for part in written {
            let marks = part.run.entries[0].marks
            guard marks.suspicions >= Self.suspicionLimit else {
                if marks.isSettled || marks.suspicions > 0 { part.run.suspect() }
                others.append(part)
                continue
            }
            self.settle([part], as: .uncertain(.positionUnknown))
            self.narrowSearch(lane, settled: part.run.count, now: now)
        }
        return others
    }

    /// Sends notifications that may have arrived again, or gives them their outcome, as the options say.
    mutating func repeatOrReport(_ written: [NotificationCache.Written], on lane: Lane, aheadOfAll: Bool = false) {
        switch self.options.onUnknown {
        case .report:
            self.settle(written, as: .uncertain(.positionUnknown))
        case .resend:
            for part in written { part.run.taint() }
            let runs = self.endEvicted(written, on: lane, as: .uncertain(.notRepeated))
            self.resend(runs, on: lane, aheadOfAll: aheadOfAll)
        }
    }

    /// Settles the notifications that have lost their bytes as `clean`, or as `uncertain` if an earlier copy may have
    /// arrived. Returns the others.
    mutating func endEvicted(_ written: [NotificationCache.Written], on lane: Lane, as clean: Outcome) -> [BatchRun] {
        let cachedFrom = lane.connection.cache.cachedFrom
        var runs: [BatchRun] = []
        for var part in written {
            let evicted = part.takeFirst(before: cachedFrom)
            if evicted.run.count > 0 {
                self.outcomes.give(clean, tainted: .uncertain(.notRepeated), to: evicted.run, isFinal: true)
            }
            if part.run.count > 0 { runs.append(part.run) }
        }
        return runs
    }
}
