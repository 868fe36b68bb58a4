package import FerryCore
internal import NIOCore

/// The work at the end of each input, and the end of the client.
extension MigratingClient where Binary: ~Copyable, HTTP2: ~Copyable {
    /// Takes the results of both sides, and carries out all that follows from them. Each input ends with this call.
    mutating func goOn(now: Moment) {
        // The loop ends, because a notification goes over to the other side only once, and each side is told to shut
        // down only once.
        var isNews = true
        while isNews {
            self.takeSideEvents(now: now)
            self.absorb()
            self.lookAtSides(now: now)
            // The returned notifications are routed before those in the front, because the returned ones were
            // submitted earlier.
            isNews = self.takeReturned(now: now)
            self.releaseSettled(now: now)
            if self.settleDown(now: now) { isNews = true }
            if self.binary.outcomes.hasReturned() || self.http2.outcomes.hasReturned() { isNews = true }
        }
        // A group that moved may have had notifications that neither side can send. Their outcomes are taken now,
        // because no later input may come.
        self.absorb()
        self.noticeWaiting(now: now)
        self.reportGoingOver()
        self.checkCompleted()
    }

    private mutating func absorb() {
        let binary = self.outcomes.absorb(&self.binary.outcomes)
        let http2 = self.outcomes.absorb(&self.http2.outcomes)
        self.answered = BothSides(binary: binary.answered, http2: http2.answered)
        self.trouble = BothSides(binary: binary.trouble, http2: http2.trouble)
        self.outcomes.takeTrouble(of: binary.trouble, http2.trouble)
        self.report.add(binary, to: .binary)
        self.report.add(http2, to: .http2)
    }

    private mutating func takeSideEvents(now: Moment) {
        let binary = self.binary.takeEvents()
        let http2 = self.http2.takeEvents()
        for event in binary { self.take(event, of: .binary, now: now) }
        for event in http2 { self.take(event, of: .http2, now: now) }
        let isWaitingAgain = self.binary.outcomes.takeRequeued()
        if self.http2.outcomes.takeRequeued() || isWaitingAgain { self.recallAgain(now: now) }
    }

    private func isUsable(_ side: ProviderSide) -> Bool {
        switch side {
        case .binary: self.binary.hasUsableConnection
        case .http2: self.http2.hasUsableConnection
        }
    }

    private mutating func take(_ event: ProviderEvent, of side: ProviderSide, now: Moment) {
        if let event = self.whole(event, of: side) { self.events.append(SidedEvent(event, side: side)) }
        switch event {
        case .error(let error) where error.code != .tooManyRejections:
            // The error ends the side's queue, or forbids all sending. An error of one connection counts only when no
            // other connection works.
            let isOfConnection = error.code == .connectionRetryLimit || error.code == .protocolViolation
            guard !isOfConnection || !self.isUsable(side) else { break }
            self.trouble[side] = error
            self.sideFailed(side, now: now)
        case .resent(_, afterOutcome: true):
            self.isIncomplete = true
        default:
            break
        }
    }

    /// Turns a side's event into an event of the whole client; nil if the event concerns the side alone.
    private mutating func whole(_ event: ProviderEvent, of side: ProviderSide) -> ProviderEvent? {
        func outer(_ id: ConnectionID) -> ConnectionID { Self.outer(id, of: side) }
        switch event {
        case .completed:
            return nil
        case .connected(let id, let open):
            self.open[side] = open
            return .connected(outer(id), open: self.open.binary + self.open.http2)
        case .disconnected(let id, let open):
            self.open[side] = open
            return .disconnected(outer(id), open: self.open.binary + self.open.http2)
        case .transmitted(let id, let tags): return .transmitted(outer(id), tags: tags)
        case .requestReset(let id, let code, let tag): return .requestReset(outer(id), code, tag: tag)
        case .socketError(let id, let error): return .socketError(outer(id), error)
        case .timeout(let id): return .timeout(outer(id))
        case .cacheTooSmall, .transmissionError, .error, .resent, .contradicted, .windowAdjusted, .migration, .dropped:
            return event
        }
    }

    // MARK: The end

    private mutating func checkCompleted() {
        guard self.isIncomplete, self.isSettled else { return }
        self.isIncomplete = false
        self.events.append(SidedEvent(.completed, side: nil))
    }

    package mutating func shutDown(proof: Proof, now: Moment) {
        self.stage = .shuttingDown(proof, told: [])
        self.goOn(now: now)
    }

    /// Tells each side about the shutdown when ``front`` is empty. With a fallback, HTTP/2 is told only after the
    /// binary side is settled, because the binary side may still give notifications back. Returns whether a side was
    /// told.
    private mutating func settleDown(now: Moment) -> Bool {
        guard case .shuttingDown(let proof, var told) = self.stage, self.front.isEmpty else { return false }
        let before = told.count
        // The binary side is told first. Only its shutdown proves the acceptances that rest on silence. After that
        // call, the binary side still takes notifications that HTTP/2 gives back.
        if told.insert(.binary).inserted { self.binary.shutDown(proof: proof, now: now) }
        if self.options.fallback == nil || self.binary.isSettled, told.insert(.http2).inserted {
            self.http2.shutDown(proof: proof, now: now)
        }
        self.stage = .shuttingDown(proof, told: told)
        return told.count > before
    }

    package mutating func abandon(
        undelivered: Outcome.UndeliveredCause,
        uncertain: Outcome.UncertainCause,
        handed: (ConnectionID) -> UInt64,
        now: Moment
    ) {
        self.setTime(now)
        self.stage = .abandoned
        for run in self.front.remove(where: { _ in true }) {
            self.settle(run, as: .undelivered(undelivered), tainted: .uncertain(uncertain))
        }
        self.binary.abandon(
            undelivered: undelivered,
            uncertain: uncertain,
            handed: { handed(Self.outer($0, of: .binary)) },
            now: now
        )
        self.http2.abandon(
            undelivered: undelivered,
            uncertain: uncertain,
            handed: { handed(Self.outer($0, of: .http2)) },
            now: now
        )
        self.goOn(now: now)
    }

    /// The figures of both sides, with the moving groups and the waiting notifications of this moment.
    package var currentReport: MigrationReport {
        var report = self.report
        report.movingGroups = self.front.moving.count
        report.waiting = self.front.count
        return report
    }
}

extension MigrationReport {
    fileprivate mutating func add(_ news: OutcomeLog.News, to side: ProviderSide) {
        let hasTimes = news.times?.isEmpty == false
        guard news.counts.settled > 0 || news.contradicted > 0 || hasTimes else { return }
        self.update(side) { side in
            side.outcomes.add(news.counts)
            side.causes.add(news.causes)
            side.contradicted += news.contradicted
            guard let times = news.times else { return }
            side.timeToWrite.add(times.toWrite)
            side.timeToAnswer.add(times.toAnswer)
            side.timeToPresume.add(times.toPresume)
        }
    }
}
