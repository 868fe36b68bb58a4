internal import FerryCore
internal import NIOCore

/// The times of a connection.
///
/// While the gateway runs and reads, a connection has no time limit in ``State/reading``, so an idle client keeps its
/// connection. TCP finds out whether the client is still there. ``StrangerOrder`` closes connections on which a
/// client has sent nothing, when other clients want a connection. After an error response, a connection is closed
/// when the client has been silent for ``GatewayBounds/deafQuiet``.
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

    /// When a full window has stopped the reading for too long. This time is later after an error response or a close
    /// of the output.
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
                    // Status 10 is written even without the journal's record. Without status 10, the client would lose
                    // the notifications that the gateway has not read. The record is needed only if the process is
                    // killed in the next minutes. Devices would then get copies.
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

    /// When to call ``timePassed(now:standing:effects:)`` next; nil if only an input can change the state.
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

    /// When a stop writes its last word: at once if the stop is urgent, after a silence if every notification is
    /// resolved, and at the latest at the last moment that leaves time for the journal and the drain. At a handover
    /// with unresolved notifications, that moment may be later; see ``Stop/handsOver``.
    private func stopAt(_ stop: Stop) -> NIODeadline {
        guard !stop.isUrgent, let endsAt else { return stop.since }
        let limit = endsAt - GatewayBounds.lastWord
        let quiet = GatewayBounds.shutdownQuiet + self.roundTrip + self.roundTrip
        guard self.ledger.isResolved else { return stop.handsOver ? max(limit, endsAt - quiet) : limit }
        return min(limit, max(self.pace.heardAt, self.resumedAt) + quiet)
    }

    /// Notes that the end of the connection was put off, in most cases because the process was suspended. The silence
    /// before this time says nothing about the client, and a drain begins anew.
    mutating func resume(now: NIODeadline) {
        self.resumedAt = now
        guard case .draining(var drain) = self.state else { return }
        drain.startedAt = now
        self.state = .draining(drain)
    }

    /// When a waiting rejection is given up, so that a stop can write status 10 instead. A rejection waits for a calm
    /// client, and status 10 does not. Without this time, a client that never pauses would get no error response. It
    /// would lose the notifications that the gateway does not read any more.
    private func overruledAt(_ candidate: Candidate) -> NIODeadline {
        guard case .rejection = candidate.word, let stop = self.stop else { return .distantFuture }
        guard !stop.isUrgent else { return stop.since }
        return (self.endsAt ?? stop.since + GatewayBounds.ending) - GatewayBounds.lastWord
    }

    private var deafEnd: NIODeadline {
        let end = max(self.pace.heardAt, self.resumedAt) + GatewayBounds.deafQuiet
        return self.stop.map { min(end, self.stopAt($0)) } ?? end
    }

    /// When the output is closed after an error response; nil if it is closed already. Usually the client has then
    /// had time to read the response, and pauses.
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

    /// At a stop, when the output is closed at the latest although the client sends on. After this time, the
    /// connection is read for a second, or for a round trip if that is longer. Otherwise nobody would read the bytes
    /// that the client writes before it sees the end.
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
