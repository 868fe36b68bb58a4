internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// Outcomes, and what they tell about the lane.
extension BinaryClient {
    mutating func settle(_ written: [NotificationCache.Written], as outcome: Outcome) {
        for part in written { self.outcomes.give(outcome, to: part.run) }
    }

    /// Gives everything before `end` the outcome that the peer's word proves; returns how many had none.
    @discardableResult
    mutating func confirm(before end: UInt64, on lane: Lane, now: Moment) -> Int {
        let settled = lane.connection.confirm(before: end, now: now.monotonic)
        self.settle(settled, as: .accepted(.confirmed))
        return self.accepted(settled, on: lane, now: now)
    }

    /// Notes that notifications of a lane were accepted; returns how many.
    @discardableResult
    mutating func accepted(_ written: [NotificationCache.Written], on lane: Lane, now: Moment) -> Int {
        let count = written.reduce(0) { $0 + $1.run.count }
        lane.progressed(by: count)
        self.narrowSearch(lane, settled: count, now: now)
        return count
    }

    /// Notes that suspects of the lane got their outcome.
    mutating func narrowSearch(_ lane: Lane, settled count: Int, now: Moment) {
        switch lane.searched(count) {
        case .goOn, .end(wasWordless: true): break
        case .end(wasWordless: false): self.narrowWindow(lane, now: now)
        }
    }

    /// Bounds what may be in flight by how many notifications are accepted until the peer ends some.
    ///
    /// - Parameter progress: how many that were this time; nil: as far as their outcomes tell.
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
            tag: entry.fields.isAwaited ? nil : Tag(entry.tag),
            notification: isCached ? run.notification(at: 0) : nil,
            device: isCached ? run.device(at: 0) : nil
        )
    }

    // MARK: Once more

    /// Puts notifications that were written back into the queue, for another copy.
    ///
    /// - Parameter aheadOfAll: whether they go before what was submitted earlier.
    mutating func resend(_ runs: [BatchRun], on lane: Lane, aheadOfAll: Bool = false) {
        var count = 0
        var repairs = 0
        // From the last on, each belongs to the very front: in the other direction each would pass all before it.
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

    /// Puts notifications back into the queue that never left.
    mutating func requeue(_ written: [NotificationCache.Written], on lane: Lane) {
        let runs = self.endEvicted(written, on: lane, as: .undelivered(.evicted))
        for run in runs.reversed() {
            // What never left was counted when it was written, and is counted again.
            if run.isCopy { self.outcomes.unwrote(copies: run.count) }
            lane.insert(run)
        }
    }

    /// Sends what may have arrived again, or gives it its outcome, as the options want.
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

    /// Gives what has lost its bytes the outcome `clean`, or `uncertain` if an earlier copy of it may have arrived; returns
    /// the rest.
    mutating func endEvicted(_ written: [NotificationCache.Written], on lane: Lane, as clean: Outcome) -> [BatchRun] {
        let cachedFrom = lane.connection.cache.cachedFrom
        var runs: [BatchRun] = []
        for var part in written {
            let evicted = part.takeFirst(before: cachedFrom)
            if evicted.run.count > 0 {
                self.outcomes.give(clean, tainted: .uncertain(.notRepeated), to: evicted.run)
            }
            if part.run.count > 0 { runs.append(part.run) }
        }
        return runs
    }
}
