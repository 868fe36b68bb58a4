package import FerryCore
package import FerryMachine
internal import NIOCore

/// How connections end, and what is done when nothing says how far the peer had read.
extension BinaryClient {
    /// Connections in a row on which the peer speaks something else, until that needs a person.
    static let violationLimit = 3

    /// Why the position is unknown.
    enum Unknown {
        /// The peer rejected a notification that nobody can name.
        case culprit(BinaryStatus)
        /// The peer ended the connection for reasons of its own, or the network did.
        case noCulprit
        /// The peer closed without a word: for reasons of its own, or because of a notification.
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
            self.failed(index, error, now: now)
        case .endOfStream:
            let error = ProviderError(.connectFailed, "The peer closed the connection before it was established.")
            self.report(.socketError(id, error))
            self.failed(index, error, now: now)
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
        case .endOfStream:
            break
        }
        if connection.responses.pendingBytes > 0 {
            // A response was cut off: something was rejected, and nobody can say what.
            self.positionUnknown(index, .culprit(.unknown), handed: handed, now: now)
        } else if connection.silence.stalledFor != nil {
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
        self.lanes[index].dial = .waiting(until: now.monotonic + self.lanes[index].backOff.fail(using: &self.jitter))
    }

    /// A connection failed without progress.
    private mutating func failed(_ index: Int, _ error: ProviderError?, now: Moment) {
        if self.lanes[index].backOff.failures == 0 { self.lanes[index].failingSince = now.monotonic }
        let wait = self.lanes[index].backOff.fail(using: &self.jitter)
        self.lanes[index].dial = .waiting(until: now.monotonic + wait)
        let limit = self.options.connectionRetryLimit
        guard limit > 0, self.lanes[index].backOff.failures > limit else { return }
        let failures = self.lanes[index].backOff.failures
        self.report(
            .error(
                ProviderError(
                    .connectionRetryLimit,
                    "Within \(now.seconds(since: self.lanes[index].failingSince)) s \(failures) connections in a row "
                        + "failed; what was queued is given up. "
                        + (error?.message ?? "The peer closed each without a word."),
                    cause: error
                )
            )
        )
        self.giveUpQueue(index, undelivered: .noConnection, uncertain: .positionUnknown)
        self.lanes[index].isolation = nil
        self.lanes[index].backOff.reset()
    }

    /// A connection that was open is gone; its unsettled notifications were dealt with.
    mutating func closed(_ index: Int, now: Moment) {
        guard let connection = self.disconnected(index) else { return }
        if connection.hasProgress || connection.isFinishing { return }
        if connection.hasNarrowed {
            self.lanes[index].dial = .waiting(until: now.monotonic + self.lanes[index].backOff.first)
        } else if self.lanes[index].violations >= Self.violationLimit {
            self.failed(index, nil, now: now)
            self.lanes[index].dial = .waiting(until: now.monotonic + self.lanes[index].backOff.cap)
        } else {
            self.failed(index, nil, now: now)
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
        guard let connection = self.lanes[index].connection else { return }
        let unsettled = self.takeUnsettled(index, handed: handed)
        self.requeue(unsettled.neverLeft, copies: false, on: index)
        let onWire = unsettled.mayHaveLeft.reduce(0) { $0 + $1.run.count }
        let isProbed = connection.probe.map { $0.sequence < unsettled.boundary } ?? false
        if isProbed { self.probesAgainAt = now.monotonic + self.probeBackOff.fail(using: &self.jitter) }
        guard onWire > 0 else {
            let presumed = connection.cache.settledTo - connection.provedTo
            if case .culprit(let status) = cause, !isProbed, presumed > 0 {
                // Too late and without a name: one outcome is wrong, and which, and how many followed it, nobody can say.
                let rejection = Self.rejection(status, .gateway)
                self.outcomes.contradict(count: 1, upTo: Int(presumed), tags: [], kind: .rejected(rejection))
            }
            return
        }
        if case .noCulprit = cause {
            // Without a name, all that is known of the progress is what was settled.
            self.narrowWindow(index, progress: connection.accepted, now: now)
        }
        if case .unseen = cause {
            self.lanes[index].isolation = nil
            self.settle(unsettled.mayHaveLeft, as: .uncertain(.positionUnknown))
        } else if isProbed, case .wordless = cause {
            // A close after a probe proves nothing, and sending again would double what was most likely accepted.
            self.settle(unsettled.mayHaveLeft, as: .uncertain(.positionUnknown))
        } else if case .culprit(let status) = cause, onWire == 1, !isProbed,
            unsettled.boundary - connection.cache.start == 1
        {
            // Nothing else was ever on it: silence may have cleared what a late error is about.
            self.noteDelay(of: unsettled.mayHaveLeft, now: now)
            self.lanes[index].isolation = nil
            self.lanes[index].connection?.hasProgress = true
            self.infer(unsettled.mayHaveLeft, status, on: index)
        } else if self.options.onUnknown == .report {
            self.settle(unsettled.mayHaveLeft, as: .uncertain(.positionUnknown))
            if case .wordless = cause { self.lanes[index].wordlessCloses += 1 }
        } else {
            self.isolate(unsettled.mayHaveLeft, onWire: onWire, cause, connection, index, now: now)
        }
    }

    private mutating func isolate(
        _ written: [NotificationCache.Written],
        onWire: Int,
        _ cause: Unknown,
        _ connection: Connection,
        _ index: Int,
        now: Moment
    ) {
        switch cause {
        case .noCulprit:
            // What stood still was no error response on its way.
            if connection.silence.stalledFor == nil { self.noteDelay(of: written, now: now) }
        case .unseen:
            break
        case .culprit:
            self.noteDelay(of: written, now: now)
            self.beginOrHalve(index, onWire: onWire, isWordless: false)
        case .wordless:
            if !connection.hasProgress { self.lanes[index].wordlessCloses += 1 }
            if self.lanes[index].isolation != nil || self.lanes[index].wordlessCloses >= Self.wordlessLimit {
                self.beginOrHalve(index, onWire: onWire, isWordless: true)
            }
            if onWire == 1, let alone = self.lanes[index].isolation?.closedAlone, alone >= Isolation.wordlessProofs {
                self.lanes[index].isolation = nil
                // A peer that closes on one after the other is broken: this counts as a failure.
                self.lanes[index].connection?.hasNarrowed = false
                self.settle(written, as: .uncertain(.peerCloses))
                return
            }
        }
        for part in written { part.run.taint() }
        self.requeue(written, copies: true, on: index)
    }

    /// Notes how late the end of a connection came for the first that may have caused it.
    private mutating func noteDelay(of written: [NotificationCache.Written], now: Moment) {
        guard let first = written.first else { return }
        self.delay.saw(now.monotonic - first.writtenAt, now: now.monotonic)
    }

    private mutating func beginOrHalve(_ index: Int, onWire: Int, isWordless: Bool) {
        self.lanes[index].connection?.hasNarrowed = true
        if self.lanes[index].isolation == nil {
            self.lanes[index].isolation = Isolation(failed: onWire, isWordless: isWordless)
        } else {
            self.lanes[index].isolation?.failed(onWire: onWire, isWordless: isWordless)
        }
    }

    /// The peer rejected the only notification on the connection, whatever name it gave.
    private mutating func infer(_ written: [NotificationCache.Written], _ status: BinaryStatus, on index: Int) {
        let rejection = Self.rejection(status, .inferred)
        let cachedFrom = self.lanes[index].connection?.cache.cachedFrom ?? .max
        for part in written {
            self.outcomes.give(.rejected(rejection), to: part.run)
            self.report(self.transmissionError(rejection, part.run, isCached: part.first >= cachedFrom))
        }
    }

    private mutating func settle(_ written: [NotificationCache.Written], as outcome: Outcome) {
        for part in written { self.outcomes.give(outcome, to: part.run) }
    }

    /// Puts notifications back into the queue. What has lost its bytes ends: as undelivered if it never left, else, being
    /// a copy of what may have arrived, as uncertain.
    private mutating func requeue(_ written: [NotificationCache.Written], copies: Bool, on index: Int) {
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
            self.resend(runs, on: index)
        } else {
            for run in runs.reversed() { self.lanes[index].queue.insert(run) }
        }
    }
}
