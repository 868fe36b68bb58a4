internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The search for a notification that the peer refuses without naming it.
extension BinaryClient {
    /// How often a notification is sent again because of errors without a name, after its outcome or after the probe at
    /// the end of a run. A gateway may judge only at the end of the stream, or end each connection with status 10 before
    /// the settle time has passed: without the bound it would get the notifications again for ever.
    static let suspicionLimit: UInt8 = 3

    /// Rejects the only notification that the connection ever had. The identifier in the response does not matter.
    mutating func blame(_ remains: BinaryConnection.Remains, _ status: BinaryStatus, on lane: Lane, now: Moment) {
        guard !remains.mayHaveLeft.isEmpty || remains.presumedCount > 0 else { return }
        lane.connection.proved()
        let rejection = Self.rejection(status, .inferred)
        let cachedFrom = lane.connection.cache.cachedFrom
        guard let culprit = remains.mayHaveLeft.first ?? lane.connection.takeAll().first else {
            lane.endSearch()
            return self.outcomes.contradict(count: 1, tags: [], kind: .rejected(rejection))
        }
        self.noteDelay(now: now.monotonic) { $0.found(now.monotonic - culprit.writtenAt, now: now.monotonic) }
        self.outcomes.give(.rejected(rejection), to: culprit.run)
        self.report(self.transmissionError(rejection, culprit.run, isCached: culprit.first >= cachedFrom))
        self.narrowWindow(lane, now: now)
        // Without probes, the silence after each window would cost more than the copies of a larger one.
        if self.mayProveWindows(lane) { lane.foundCulprit() } else { lane.endSearch() }
    }

    /// Handles a refusal without a name. The refused notification is on the wire or among those presumed accepted.
    ///
    /// - Returns: whether a search continues.
    mutating func suspect(
        _ remains: BinaryConnection.Remains,
        _ status: BinaryStatus,
        on lane: Lane,
        now: Moment
    ) -> Bool {
        if let oldest = remains.mayHaveLeft.first, remains.isBehindLastProbe {
            // The probe was written after silence for the settle time. So the response came later than that.
            self.noteDelay(now: now.monotonic) { $0.suspect(now.monotonic - oldest.writtenAt, now: now.monotonic) }
            for written in remains.mayHaveLeft { written.run.suspect() }
        }
        let suspects = self.suspectPresumed(remains, status, on: lane, now: now) + remains.mayHaveLeft
        guard !suspects.isEmpty else { return false }
        switch self.options.onUnknown {
        case .resend:
            let count = suspects.reduce(0) { $0 + $1.run.count }
            if remains.isBehindSearchProbe { lane.probeSaidNothing() }
            let isAmongThem = remains.presumedCount == 0 && !remains.isBehindSearchProbe
            lane.search(among: count, quietTime: self.delay.quietTime, isAmongThem: isAmongThem)
        case .report:
            self.narrowWindow(lane, now: now)
        }
        self.repeatSuspects(suspects, on: lane)
        return self.options.onUnknown == .resend
    }

    /// Removes the notifications that were presumed accepted and may be the culprit. Contradicts those that cannot be
    /// sent again.
    ///
    /// - Returns: the notifications that are sent again.
    private mutating func suspectPresumed(
        _ remains: BinaryConnection.Remains,
        _ status: BinaryStatus,
        on lane: Lane,
        now: Moment
    ) -> [NotificationCache.Written] {
        var repairs: [NotificationCache.Written] = []
        var unrepaired: [NotificationCache.Written] = []
        if self.options.onUnknown == .resend, lane.search == nil {
            let held = lane.connection.takePresumed(cached: true)
            if let oldest = held.first {
                self.noteDelay(now: now.monotonic) { $0.suspect(now.monotonic - oldest.writtenAt, now: now.monotonic) }
            }
            for written in held {
                if written.run.entries[0].marks.suspicions < Self.suspicionLimit {
                    written.run.suspect()
                    repairs.append(written)
                } else {
                    unrepaired.append(written)
                }
            }
        }
        let presumedCount = remains.presumedCount - repairs.reduce(0) { $0 + $1.run.count }
        if presumedCount > 0 {
            // One outcome is wrong. It is unknown which one, and how many notifications were discarded after it.
            unrepaired += lane.connection.takePresumed(cached: false)
            self.outcomes.contradict(
                count: 1,
                upTo: presumedCount,
                tags: unrepaired.flatMap(\.run.tags),
                kind: .rejected(Self.rejection(status, .gateway))
            )
        }
        return repairs
    }

    // MARK: Proof of a window

    /// Whether probes may prove the windows of the lane's search.
    private func mayProveWindows(_ lane: Lane) -> Bool {
        guard let search = lane.search, !search.isWordless else { return false }
        return self.canProbe && self.searchProbePermission.isGiven
    }

    /// Whether a probe follows the present window of the lane's search. It does not if the connection has presumed
    /// notifications, because without an answer their errors would no longer be heard.
    func provesWindow(_ lane: Lane) -> Bool {
        self.mayProveWindows(lane) && lane.connection.open != nil && lane.connection.presumedCount == 0
            && lane.connection.silence.showsAcknowledgements
    }

    /// Whether the whole window is written.
    func isWindowWritten(_ lane: Lane) -> Bool {
        lane.connection.cache.unsettledCount > 0 && (lane.queue.isEmpty || self.room(lane) == 0)
    }

    /// Notes that probes proved all suspects accepted, although an error response had shown a culprit among them. So
    /// the peer does not answer probes in order, and has discarded some of these.
    mutating func culpritVanished(among count: Int, now: Moment) {
        self.searchProbePermission.notAnswered(now: now.monotonic, using: &self.jitter)
        let rejection = Self.rejection(.unknown, .inferred)
        self.outcomes.contradict(count: 1, upTo: count, tags: [], kind: .rejected(rejection))
    }

    private mutating func repeatSuspects(_ suspects: [NotificationCache.Written], on lane: Lane) {
        let clearedTo = lane.connection.cache.clearedTo
        // Only the last window was not silent, and it held one notification. That one goes first, so it is alone on its
        // connection, and an error there proves its guilt.
        guard let last = suspects.last, last.run.count == 1, last.first >= clearedTo,
            let before = suspects.dropLast().last, before.end <= clearedTo
        else { return self.repeatOrReport(suspects, on: lane) }
        self.repeatOrReport(Array(suspects.dropLast()), on: lane)
        self.repeatOrReport([last], on: lane, aheadOfAll: true)
    }

    /// Handles a connection that ended without a reason. After three in a row without progress a search begins.
    ///
    /// - Returns: whether a search continues.
    mutating func closedWithoutWord(_ remains: BinaryConnection.Remains, on lane: Lane) -> Bool {
        if remains.isBehindSearchProbe {
            // Some peers close on a probe. That says nothing about the notifications before it.
            lane.probeSaidNothing()
            self.repeatOrReport(remains.mayHaveLeft, on: lane)
            return true
        }
        if remains.progress == .none { lane.closedWithoutWord() }
        let isSearched = lane.search != nil || lane.wordlessCloses >= Self.wordlessLimit
        guard self.options.onUnknown == .resend, isSearched else {
            self.repeatOrReport(remains.mayHaveLeft, on: lane)
            return false
        }
        lane.search(among: remains.onWire, quietTime: nil, isAmongThem: false)
        if remains.onWire == 1, let search = lane.search, search.closedAlone >= Isolation.wordlessProofs {
            // A peer that closes on several notifications, each alone on its connection, is broken. So this counts as a
            // failure.
            lane.endSearch()
            self.settle(remains.mayHaveLeft, as: .uncertain(.peerCloses))
            return false
        }
        self.repeatOrReport(remains.mayHaveLeft, on: lane)
        return true
    }
}
