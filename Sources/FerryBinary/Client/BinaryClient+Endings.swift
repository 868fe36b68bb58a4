package import FerryCore
package import FerryMachine
internal import NIOCore

/// How connections end, and what is done when nothing says how far the peer had read.
extension BinaryClient {
    /// Connections in a row on which the peer speaks something else, until that needs a person.
    static let violationLimit = 3

    /// How often a notification is sent again after its outcome for errors without a name. Without a bound, a gateway that
    /// judges at the end of the stream would get everything again each time a connection ends, for ever.
    static let suspicionLimit: UInt8 = 3

    /// Why the position is unknown.
    enum Unknown {
        /// The peer rejected a notification that nobody can name.
        case culprit(BinaryStatus)
        /// The peer ended the connection for reasons of its own, or the network did.
        case noCulprit
        /// The peer does not speak the protocol, so that its silence says nothing.
        case violation
        /// The peer closed without a word, or with one that means nothing: for reasons of its own, or because of a
        /// notification.
        case wordless
        /// The system does not show acknowledgements, so that silence cannot settle anything.
        case unseen
    }

    /// Notes that a connection ended or was not made. What it had sent before must have been given to
    /// ``received(_:_:handed:now:)``.
    ///
    /// - Parameter handed: how many bytes of the stream below TLS the system took in all.
    package mutating func ended(_ id: ConnectionID, _ end: End, handed: UInt64, now: Moment) {
        guard let index = self.lane(of: id) else { return }
        if let connection = self.lanes[index].connection {
            self.endedOpen(index, connection, end, handed: handed, now: now)
        } else {
            self.notConnected(index, id, end, now: now)
        }
        self.advance(now: now)
    }

    private mutating func notConnected(_ index: Int, _ id: ConnectionID, _ end: End, now: Moment) {
        switch end {
        case .credentialsRejected(let error):
            self.refused(index, error, now: now)
        case .lost(let error), .notConnected(let error):
            self.report(.socketError(id, error))
            self.failed(index, .failure(error), now: now)
        case .endOfStream:
            let error = ProviderError(.connectFailed, "The peer closed the connection before it was established.")
            self.report(.socketError(id, error))
            self.failed(index, .failure(error), now: now)
        }
    }

    private mutating func endedOpen(
        _ index: Int,
        _ connection: Connection,
        _ end: End,
        handed: UInt64,
        now: Moment
    ) {
        switch end {
        case .credentialsRejected(let error):
            // Under TLS 1.3 the refusal may come so late that silence has settled some: they were not delivered either.
            for written in self.lanes[index].connection?.cache.removeAll() ?? [] {
                self.outcomes.give(.undelivered(.credentials), tainted: .uncertain(.notRepeated), to: written.run)
            }
            self.disconnected(index)
            self.refused(index, error, now: now)
            return
        case .lost(let error), .notConnected(let error):
            self.report(.socketError(connection.id, error))
            self.lanes[index].connection?.lastWord = .failure(error)
        case .endOfStream:
            break
        }
        if connection.responses.pendingBytes > 0 { self.lanes[index].connection?.lastWord = .truncated }
        if connection.silence.isStalled {
            self.positionUnknown(index, .noCulprit, handed: handed, now: now)
        } else {
            self.positionUnknown(index, .wordless, handed: handed, now: now)
        }
        self.closed(index, now: now)
    }

    /// The peer refused the credentials: nothing that was queued can be delivered, and waiting would not help.
    private mutating func refused(_ index: Int, _ error: ProviderError, now: Moment) {
        self.report(.error(error))
        for lane in self.lanes.indices {
            self.giveUpQueue(lane, undelivered: .credentials, uncertain: .notRepeated)
        }
        self.lanes[index].isolation = nil
        self.lanes[index].dial = .waiting(until: now.monotonic + self.lanes[index].backOff.fail(using: &self.jitter))
    }

    /// A connection failed without progress.
    private mutating func failed(_ index: Int, _ lastWord: LastWord, now: Moment) {
        if self.lanes[index].backOff.failures == 0 {
            // The time of the first attempt counts, too, if that came to nothing.
            let attempt: NIODeadline? = if case .dialing(_, let since) = self.lanes[index].dial { since } else { nil }
            self.lanes[index].failingSince = attempt ?? now.monotonic
        }
        let since = self.lanes[index].failingSince
        let limit = RetryLimit(count: self.options.connectionRetryLimit, time: self.options.connectionRetryTime)
        let wait = self.lanes[index].backOff.fail(using: &self.jitter)
        self.lanes[index].dial = .waiting(until: now.monotonic + limit.bounded(wait, since: since, now: now.monotonic))
        let failures = self.lanes[index].backOff.failures
        guard limit.isReached(failures, since: since, now: now.monotonic) else { return }
        self.report(
            .error(
                ProviderError(
                    .connectionRetryLimit,
                    "Within \(now.seconds(since: since)) s \(failures) connections in a row "
                        + "failed; what was queued is given up. "
                        + lastWord.sentence,
                    cause: lastWord.cause
                )
            )
        )
        self.giveUpQueue(index, undelivered: .noConnection, uncertain: .positionUnknown)
        self.lanes[index].isolation = nil
        self.lanes[index].backOff.reset()
        self.lanes[index].dial = .waiting(until: now.monotonic + self.lanes[index].backOff.first)
    }

    /// A connection that was open is gone; its unsettled notifications were dealt with.
    mutating func closed(_ index: Int, now: Moment) {
        guard let connection = self.disconnected(index) else { return }
        if connection.progress == .proved || connection.isFinishing { return }
        if connection.hasNarrowed {
            self.lanes[index].dial = .waiting(until: now.monotonic + self.lanes[index].backOff.first)
        } else if self.lanes[index].violations >= Self.violationLimit {
            self.failed(index, connection.lastWord, now: now)
            self.lanes[index].dial = .waiting(until: now.monotonic + self.lanes[index].backOff.cap)
        } else {
            self.failed(index, connection.lastWord, now: now)
        }
    }

    @discardableResult
    private mutating func disconnected(_ index: Int) -> Connection? {
        guard let connection = self.lanes[index].connection else { return nil }
        self.lanes[index].connection = nil
        self.lanes[index].dial = .idle
        self.lanes[index].isolation?.restart()
        self.report(.disconnected(connection.id, open: self.openCount))
        return connection
    }

    /// The unsettled notifications of a lane's connection, which are no longer on it.
    struct Unsettled {
        /// Those whose last TLS record the system had, at least in part.
        var mayHaveLeft: [NotificationCache.Written] = []
        var neverLeft: [NotificationCache.Written] = []
        /// The sequence number that parts them.
        var boundary: UInt64 = 0
    }

    mutating func takeUnsettled(_ index: Int, handed: UInt64) -> Unsettled {
        guard let connection = self.lanes[index].connection else { return Unsettled() }
        let boundary = connection.silence.keptBack(handed: handed) ?? connection.cache.next
        var result = Unsettled(boundary: boundary)
        for var written in self.lanes[index].connection?.cache.removeUnsettled() ?? [] {
            let left = written.takeFirst(before: boundary)
            if left.run.count > 0 { result.mayHaveLeft.append(left) }
            if written.run.count > 0 { result.neverLeft.append(written) }
        }
        return result
    }

    /// Decides on what is unsettled on a connection that says nothing more.
    mutating func positionUnknown(_ index: Int, _ cause: Unknown, handed: UInt64, now: Moment) {
        self.pauseProbes(index, now: now)
        switch cause {
        case .wordless, .noCulprit:
            if self.lanes[index].connection?.isFinishing == false { self.presumeUnproved(index, .closed, now: now) }
        case .culprit, .violation, .unseen:
            break
        }
        guard let connection = self.lanes[index].connection else { return }
        let unsettled = self.takeUnsettled(index, handed: handed)
        self.requeue(unsettled.neverLeft, copies: false, on: index)
        let onWire = unsettled.mayHaveLeft.reduce(0) { $0 + $1.run.count }
        switch cause {
        case .culprit(let status):
            if unsettled.boundary - connection.cache.start == 1, connection.probe == nil {
                self.infer(status, unsettled.mayHaveLeft, on: index, now: now)
            } else {
                self.suspect(unsettled.mayHaveLeft, status, connection, index, now: now)
            }
        case .violation where connection.probe?.purpose == .end:
            // Sent again without a probe, silence would accept it at a peer that was seen not to speak the protocol.
            self.settle(unsettled.mayHaveLeft, as: .uncertain(.positionUnknown))
        case .noCulprit where onWire > 0, .violation where onWire > 0:
            // Without a name, all that is known of the progress is what was settled.
            self.narrowWindow(index, now: now)
            self.repeatOrReport(unsettled.mayHaveLeft, on: index)
        case .wordless where onWire > 0:
            self.wordless(unsettled.mayHaveLeft, onWire: onWire, connection, index, now: now)
        case .noCulprit, .violation, .wordless:
            break
        case .unseen:
            self.lanes[index].isolation = nil
            self.settle(unsettled.mayHaveLeft, as: .uncertain(.positionUnknown))
        }
    }

    /// A probe that was not answered: for some time no other one is written.
    private mutating func pauseProbes(_ index: Int, now: Moment) {
        guard self.lanes[index].connection?.probe?.isAwaited == true else { return }
        self.lanes[index].connection?.probe?.isAwaited = false
        self.probesAgainAt = now.monotonic + self.probeBackOff.fail(using: &self.jitter)
    }

    /// Proof that a shutdown asked for cannot be had: what silence had earned counts.
    ///
    /// Else a peer that ends connections sooner than a probe is answered would be sent the last notifications for ever.
    mutating func presumeUnproved(_ index: Int, _ cause: Unproved.Cause, now: Moment) {
        self.presumeEarned(index, now: now)
        self.leaveUnproved(index, cause)
    }

    /// Gives what silence had earned its outcome. Where acknowledgements do not show, it had earned nothing.
    private mutating func presumeEarned(_ index: Int, now: Moment) {
        guard self.isShuttingDown, self.proof == .automatic, let connection = self.lanes[index].connection,
            connection.silence.showsAcknowledgements
        else { return }
        let probed = connection.probe.flatMap { $0.purpose == .end ? $0.sequence : nil }
        if let end = probed ?? connection.silence.earnedTo { self.presume(before: end, on: index, now: now) }
    }

    /// Notes, at the end of a run, what was presumed on a connection and is not proved.
    mutating func leaveUnproved(_ index: Int, _ cause: Unproved.Cause) {
        guard self.isShuttingDown, self.proof != .silence, self.queuedCount == 0,
            let connection = self.lanes[index].connection, !connection.isFinishing
        else { return }
        self.outcomes.leaveUnproved(connection.presumedCount, cause)
    }

    /// The peer did not answer a probe in time.
    mutating func probeTimedOut(_ index: Int, now: Moment) {
        self.lanes[index].connection?.lastWord = .silence
        self.pauseProbes(index, now: now)
        self.presumeEarned(index, now: now)
        if self.lanes[index].connection?.cache.unsettledCount == 0 {
            self.finish(index, now: now)
        } else {
            self.settle(self.takeUnsettled(index, handed: .max).mayHaveLeft, as: .uncertain(.positionUnknown))
            self.hangUp(index, now: now)
        }
    }

    /// The peer refused a notification that it did not name, among those on the wire or those presumed accepted.
    private mutating func suspect(
        _ unsettled: [NotificationCache.Written],
        _ status: BinaryStatus,
        _ connection: Connection,
        _ index: Int,
        now: Moment
    ) {
        var suspects = unsettled
        var presumed = connection.presumedCount
        var unrepaired: [NotificationCache.Written] = []
        if let oldest = unsettled.first, let probe = connection.probe, probe.purpose == .end {
            // Silence had lasted for the settle time, so the response came later than that.
            self.delay.suspect(now.monotonic - oldest.writtenAt, now: now.monotonic)
        }
        if self.options.onUnknown == .resend, self.lanes[index].isolation == nil {
            let held = self.lanes[index].connection?.cache.removeHistory(from: connection.provedTo, cached: true) ?? []
            if let oldest = held.first {
                self.delay.suspect(now.monotonic - oldest.writtenAt, now: now.monotonic)
            }
            let mayRepeat = { (written: NotificationCache.Written) in
                written.run.entries[0].marks.suspicions < Self.suspicionLimit
            }
            let repairs = held.filter(mayRepeat)
            unrepaired = held.filter { !mayRepeat($0) }
            for repair in repairs { repair.run.suspect() }
            presumed -= repairs.reduce(0) { $0 + $1.run.count }
            suspects = repairs + unsettled
        }
        if presumed > 0 {
            // One outcome is wrong, and nothing says which, nor how many notifications were discarded after it.
            unrepaired +=
                self.lanes[index].connection?.cache.removeHistory(from: connection.provedTo, cached: false) ?? []
            self.outcomes.contradict(
                count: 1,
                upTo: presumed,
                tags: unrepaired.flatMap(\.run.tags),
                kind: .rejected(Self.rejection(status, .gateway))
            )
        }
        guard !suspects.isEmpty else { return }
        if self.options.onUnknown == .resend {
            self.search(suspects.reduce(0) { $0 + $1.run.count }, isWordless: false, index)
        } else {
            self.narrowWindow(index, now: now)
        }
        // A window of one that was not cleared, behind others that were: alone on a connection it shows its guilt.
        guard let last = suspects.last, last.run.count == 1, last.first >= connection.clearedTo,
            suspects.dropLast().last.map({ $0.end <= connection.clearedTo }) ?? false
        else { return self.repeatOrReport(suspects, on: index) }
        self.repeatOrReport(suspects.dropLast(), on: index)
        self.repeatOrReport([last], on: index, aheadOfAll: true)
    }

    /// The connection ended, and nothing says why.
    private mutating func wordless(
        _ written: [NotificationCache.Written],
        onWire: Int,
        _ connection: Connection,
        _ index: Int,
        now: Moment
    ) {
        if connection.probe?.purpose == .end {
            // The caller wants proof or the truth, and not another copy of what silence had all but settled.
            return self.settle(written, as: .uncertain(.positionUnknown))
        }
        if connection.progress == .none { self.lanes[index].wordlessCloses += 1 }
        let isSearched =
            self.lanes[index].isolation != nil || self.lanes[index].wordlessCloses >= Self.wordlessLimit
        if self.options.onUnknown == .resend, isSearched {
            self.search(onWire, isWordless: true, index)
            if onWire == 1, let alone = self.lanes[index].isolation?.closedAlone, alone >= Isolation.wordlessProofs {
                self.lanes[index].isolation = nil
                // A peer that closes on one after the other is broken: this counts as a failure.
                self.lanes[index].connection?.hasNarrowed = false
                return self.settle(written, as: .uncertain(.peerCloses))
            }
        }
        self.repeatOrReport(written, on: index)
    }

    /// Notes a silence of the settle time.
    mutating func presume(before end: UInt64, on index: Int, now: Moment) {
        var count = 0
        for written in self.lanes[index].connection?.cache.settle(before: end, at: now.monotonic) ?? [] {
            self.outcomes.give(.accepted(.presumed), to: written.run)
            self.progressed(index, by: written.run.count, .presumed)
            count += written.run.count
        }
        self.narrowSearch(index, settled: count, now: now)
    }

    /// Sends what may have arrived again, or gives it its outcome, as the options want.
    private mutating func repeatOrReport(
        _ written: [NotificationCache.Written],
        on index: Int,
        aheadOfAll: Bool = false
    ) {
        switch self.options.onUnknown {
        case .report:
            self.settle(written, as: .uncertain(.positionUnknown))
        case .resend:
            for part in written { part.run.taint() }
            self.requeue(written, copies: true, on: index, aheadOfAll: aheadOfAll)
        }
    }

    // MARK: The search for a culprit

    /// Begins the search among `suspects` notifications, or goes on with it.
    private mutating func search(_ suspects: Int, isWordless: Bool, _ index: Int) {
        self.lanes[index].connection?.hasNarrowed = true
        if self.lanes[index].isolation == nil {
            let quietTime = isWordless ? nil : self.delay.quietTime
            self.lanes[index].isolation = Isolation(
                suspects: suspects,
                progress: isWordless ? nil : self.lanes[index].window.progress,
                quietTime: quietTime
            )
        } else {
            self.lanes[index].isolation?.failed(onWire: suspects, isWordless: isWordless)
        }
    }

    /// Notes that suspects of the lane got their outcome; the search ends with the last one.
    mutating func narrowSearch(_ index: Int, settled count: Int, now: Moment) {
        let onWire = self.lanes[index].connection?.cache.unsettledCount ?? 0
        self.lanes[index].isolation?.settled(count, onWire: onWire)
        guard let isolation = self.lanes[index].isolation, isolation.isOver else { return }
        self.lanes[index].isolation = nil
        if !isolation.isWordless { self.narrowWindow(index, now: now) }
    }

    /// The peer refused the only notification that was ever on the connection, whatever name it gave.
    private mutating func infer(
        _ status: BinaryStatus,
        _ unsettled: [NotificationCache.Written],
        on index: Int,
        now: Moment
    ) {
        guard let connection = self.lanes[index].connection, !unsettled.isEmpty || connection.presumedCount > 0 else {
            return
        }
        self.lanes[index].isolation = nil
        self.lanes[index].connection?.progressed(.proved)
        let rejection = Self.rejection(status, .inferred)
        let cachedFrom = connection.cache.cachedFrom
        guard let culprit = unsettled.first ?? self.lanes[index].connection?.cache.removeAll().first else {
            return self.outcomes.contradict(count: 1, tags: [], kind: .rejected(rejection))
        }
        self.delay.found(now.monotonic - culprit.writtenAt, now: now.monotonic)
        self.outcomes.give(.rejected(rejection), to: culprit.run)
        self.report(self.transmissionError(rejection, culprit.run, isCached: culprit.first >= cachedFrom))
        self.narrowWindow(index, now: now)
    }

    private mutating func settle(_ written: [NotificationCache.Written], as outcome: Outcome) {
        for part in written { self.outcomes.give(outcome, to: part.run) }
    }

    /// Puts notifications back into the queue. What has lost its bytes ends: as undelivered if it never left, else, being
    /// a copy of what may have arrived, as uncertain.
    private mutating func requeue(
        _ written: [NotificationCache.Written],
        copies: Bool,
        on index: Int,
        aheadOfAll: Bool = false
    ) {
        let cachedFrom = self.lanes[index].connection?.cache.cachedFrom ?? 0
        var runs: [BatchRun] = []
        for var part in written {
            let evicted = part.takeFirst(before: cachedFrom)
            if evicted.run.count > 0 {
                let clean: Outcome = copies ? .uncertain(.notRepeated) : .undelivered(.evicted)
                self.outcomes.give(clean, tainted: .uncertain(.notRepeated), to: evicted.run)
            }
            if part.run.count > 0 { runs.append(part.run) }
        }
        if copies {
            self.resend(runs, on: index, aheadOfAll: aheadOfAll)
        } else {
            for run in runs.reversed() {
                // What never left was counted when it was written, and is counted again.
                if run.isCopy { self.outcomes.resent -= run.count }
                self.lanes[index].queue.insert(run)
            }
        }
    }
}
