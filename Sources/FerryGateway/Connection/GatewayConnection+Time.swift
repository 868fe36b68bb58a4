internal import FerryCore
internal import NIOCore

/// The times of a connection.
///
/// While the gateway runs, a connection has no time limit in ``State/reading``, so an idle client keeps its connection.
/// TCP finds out whether the client is still there. ``StrangerOrder`` closes connections on which a client has sent
/// nothing, when others want their places. After an error response, a connection is closed when it has been silent for
/// ``GatewayBounds/deafQuiet``.
extension GatewayConnection {
    /// Changes state as far as inputs and time allow, and returns the next action.
    mutating func proceed(
        now: NIODeadline,
        standing: ReplayFilter.Standing,
        _ effects: inout [Effect]
    ) -> Action {
        self.releaseDue(now: now, &effects)
        self.noteReading(now: now)
        self.noteSingle(now: now)
        if let endsAt, endsAt <= now {
            if case .closed = self.state { return .none }
            return self.close(&effects)
        }
        if let stopEnd = self.stopEnd, stopEnd <= now {
            guard self.state.mayTell else { return self.close(&effects) }
            self.stop = Stop(since: now, isUrgent: true)
        }
        let action = self.advance(now: now, standing: standing, &effects)
        self.noteReading(now: now)
        return action
    }

    /// The time at which a full window will have stopped the reading for too long. It is later after an error response.
    ///
    /// It is nil while the connection reads, and in ``State/ignoring(until:)`` and ``State/closed``. Before an error
    /// response, it is also nil if a stop is urgent already.
    private var stopEnd: NIODeadline? {
        guard let stoppedAt = self.stoppedAt, self.state.isAdopting else { return nil }
        guard self.state.mayTell else {
            return stoppedAt + GatewayBounds.stop + GatewayBounds.journal + GatewayBounds.drainQuiet
        }
        return self.stop?.isUrgent ?? false ? nil : stoppedAt + GatewayBounds.stop
    }

    private mutating func advance(
        now: NIODeadline,
        standing: ReplayFilter.Standing,
        _ effects: inout [Effect]
    ) -> Action {
        while true {
            switch self.state {
            case .reading:
                if let rejection = self.ledger.rejection {
                    let id = EpisodeID(connection: self.id, sequence: rejection.sequence)
                    self.state = .calming(Candidate(word: .rejection(rejection), knownAt: now, episode: id))
                } else if let stop = self.stop, self.stopAt(stop) <= now {
                    let accepted = self.ledger.lastAccepted
                    guard let accepted else { return self.closeOutput(now: now, &effects) }
                    self.ledger.keepFollowers(of: accepted.sequence)
                    let id = EpisodeID(connection: self.id, sequence: accepted.sequence)
                    var candidate = Candidate(word: .shutdown(accepted), knownAt: now, episode: id)
                    // At a handover without followers, the last word does not wait for the journal. Notifications that
                    // were read meanwhile would become followers.
                    candidate.isDurable = stop.handsOver && self.ledger.isResolved
                    self.state = .calming(candidate)
                } else if let brokenEnd = self.brokenEnd, self.ledger.isResolved || brokenEnd <= now {
                    return self.violated(now: now, &effects)
                } else {
                    return .none
                }
            case .calming(let candidate):
                let response = self.response(to: candidate, standing, now: now)
                let isOverruled = self.overruledAt(candidate) <= now
                guard let response, !isOverruled else {
                    guard case .rejection = candidate.word else { return self.closeOutput(now: now, &effects) }
                    guard isOverruled || !self.mayBecomeAlone(candidate, standing, now: now) else { return .none }
                    self.giveUp(&effects)
                    continue
                }
                guard self.calmAt(candidate, standing) <= now else { return .none }
                guard !candidate.isDurable else {
                    let action = self.tell(response, candidate, now: now)
                    if self.leavesRest(standing, now: now) { self.state = .ignoring(until: now + GatewayBounds.ignore) }
                    return action
                }
                self.state = .journalling(candidate, until: now + GatewayBounds.journal)
                return .journal(candidate.episode)
            case .journalling(let candidate, let until):
                guard min(until, self.overruledAt(candidate)) <= now else { return .none }
                guard case .rejection = candidate.word else {
                    // Without its last word, the client would lose notifications that it has written and the gateway
                    // has not read. Without the journal's record, only a kill in the next minutes would do harm:
                    // devices would get copies.
                    let response = self.response(to: candidate, standing, now: now)
                    guard let response else { return self.closeOutput(now: now, &effects) }
                    return self.tell(response, candidate, now: now)
                }
                self.giveUp(&effects)
            case .draining(var drain):
                self.forgetRejections()
                if let end = self.outputEnd(drain), end <= now {
                    drain.output = .closed
                    self.state = .draining(drain)
                    return .closeOutput
                }
                guard self.drainEnd(drain) <= now else { return .none }
                guard self.stop == nil, self.brokenEnd == nil, let episode = drain.episode else {
                    return self.close(&effects)
                }
                self.becomeDeaf()
                return .drained(episode)
            case .deaf:
                self.forgetRejections()
                return self.deafEnd <= now ? self.close(&effects) : .none
            case .ignoring(let until):
                return until <= now ? self.close(&effects) : .none
            case .closed:
                return .none
            }
        }
    }

    /// When to call ``timePassed(now:standing:)`` next; nil if only an input can change the state.
    func nextDeadline(standing: ReplayFilter.Standing) -> NIODeadline? {
        var next = NIODeadline.distantFuture
        if self.spool == .open, let release = self.ledger.nextRelease { next = release }
        if let stopEnd = self.stopEnd { next = min(next, stopEnd) }
        if let endsAt { next = min(next, endsAt) }
        if self.single == .unknown, self.isSingle { next = min(next, self.pace.heardAt + GatewayBounds.single) }
        switch self.state {
        case .reading:
            if let stop = self.stop { next = min(next, self.stopAt(stop)) }
            if let brokenEnd = self.brokenEnd { next = min(next, brokenEnd) }
        case .calming(let candidate):
            next = min(next, self.calmAt(candidate, standing), self.giveUpAt(candidate), self.overruledAt(candidate))
        case .journalling(let candidate, let until):
            next = min(next, until, self.overruledAt(candidate))
        case .ignoring(let until):
            next = min(next, until)
        case .draining(let drain):
            next = min(next, self.outputEnd(drain) ?? self.drainEnd(drain))
        case .deaf:
            next = min(next, self.deafEnd)
        case .closed:
            return nil
        }
        return next == .distantFuture ? nil : next
    }

    private func giveUpAt(_ candidate: Candidate) -> NIODeadline {
        switch candidate.word {
        case .rejection(let rejection): (rejection.isProbe ? candidate.knownAt : rejection.readAt) + GatewayBounds.age
        case .shutdown: self.pace.heardAt + GatewayBounds.forgetsLast
        }
    }

    /// When a stop writes its last word: at once if it is urgent, after a silence if every notification has its result,
    /// and otherwise at the last moment that leaves time for the journal and the drain.
    private func stopAt(_ stop: Stop) -> NIODeadline {
        guard !stop.isUrgent, let endsAt else { return stop.since }
        let limit = endsAt - GatewayBounds.lastWord
        let quiet = GatewayBounds.shutdownQuiet + self.roundTrip + self.roundTrip
        guard self.ledger.isResolved else { return stop.handsOver ? max(limit, endsAt - quiet) : limit }
        return min(limit, max(self.pace.heardAt, self.resumedAt) + quiet)
    }

    /// Notes that the process was stopped and runs again. The silence before this time says nothing about the client.
    mutating func resume(now: NIODeadline) {
        self.resumedAt = now
        guard case .draining(var drain) = self.state else { return }
        drain.startedAt = now
        self.state = .draining(drain)
    }

    /// When a stop gives up a rejection for the sake of its own last word. Otherwise a client that never pauses would
    /// get no last word, and lose the notifications that the gateway no longer reads.
    private func overruledAt(_ candidate: Candidate) -> NIODeadline {
        guard case .rejection = candidate.word, let stop = self.stop else { return .distantFuture }
        guard !stop.isUrgent else { return stop.since }
        return (self.endsAt ?? stop.since + GatewayBounds.ending) - GatewayBounds.lastWord
    }

    private var deafEnd: NIODeadline {
        let end = max(self.pace.heardAt, self.resumedAt) + GatewayBounds.deafQuiet
        return self.stop.map { min(end, self.stopAt($0)) } ?? end
    }

    /// When the output is closed after an error response; nil if it is closed already. By then, the client has had time
    /// to read the response, and pauses.
    private func outputEnd(_ drain: Drain) -> NIODeadline? {
        let earliest = drain.startedAt + GatewayBounds.outputDelay + self.roundTrip
        switch drain.output {
        case .open:
            // While the gateway does not read, silence says nothing about the client.
            guard self.isReading else { return self.drainEnd(drain) }
            let pause = max(self.pace.heardAt, self.resumedAt) + GatewayBounds.outputQuiet + self.roundTrip
            return min(max(earliest, min(pause, self.lastOutputEnd(drain))), self.drainEnd(drain))
        case .ending:
            return min(earliest, self.drainEnd(drain))
        case .closed:
            return nil
        }
    }

    /// When a client that sends on has to see the end of the output at a stop. Otherwise nobody reads what it writes
    /// until it sees the end of the connection.
    private func lastOutputEnd(_ drain: Drain) -> NIODeadline {
        guard self.stop != nil else { return .distantFuture }
        let end = min(self.endsAt ?? .distantFuture, drain.startedAt + GatewayBounds.drain)
        return end - max(GatewayBounds.drainQuiet, self.roundTrip)
    }

    private func drainEnd(_ drain: Drain) -> NIODeadline {
        let quiet = max(GatewayBounds.drainQuiet, self.roundTrip + self.roundTrip + self.roundTrip)
        let end = drain.startedAt + GatewayBounds.drain
        if self.stop?.isUrgent ?? false { return drain.startedAt + GatewayBounds.drainQuiet }
        // While the gateway does not read, silence says nothing about the client.
        guard self.isReading else { return end }
        return min(end, max(self.pace.heardAt, drain.startedAt, self.resumedAt) + quiet)
    }
}
