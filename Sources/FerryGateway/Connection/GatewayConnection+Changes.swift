internal import FerryBinary
internal import FerryCore
internal import NIOCore

/// The changes of a connection's state.
extension GatewayConnection {
    mutating func tell(_ response: ErrorResponse, _ candidate: Candidate, now: NIODeadline) -> Action {
        let sequence = candidate.episode.sequence
        let (kind, job): (EpisodeKind, JobID?) =
            switch candidate.word {
            case .rejection(let rejection): (.rejection, rejection.job)
            case .shutdown: (.shutdown, nil)
            }
        let telling = Telling(
            episode: candidate.episode,
            kind: kind,
            response: response,
            job: job,
            named: self.ledger.key(of: sequence),
            roundTrip: self.roundTrip,
            followers: self.ledger.followers(of: sequence)
        )
        self.ledger.forgetFollowers()
        self.told = (sequence, nil)
        self.state = .draining(Drain(episode: candidate.episode, startedAt: now, output: .open))
        self.forgetRejections()
        return .tell(telling)
    }

    mutating func closeOutput(now: NIODeadline, _ effects: inout [Effect]) -> Action {
        self.deferAll(&effects)
        self.state = .draining(Drain(episode: nil, startedAt: now, output: .closed))
        return .closeOutput
    }

    /// Defers the present rejection, and continues to read.
    mutating func giveUp(_ effects: inout [Effect]) {
        if let rejection = self.ledger.rejection { effects.append(.deferRejection(of: rejection.job)) }
        // Status 10 may follow, and names the last accepted notification. The client then sends the rejected one again.
        if self.stop != nil, let accepted = self.ledger.lastAccepted {
            self.ledger.keepFollowers(of: accepted.sequence)
        }
        self.ledger.pass()
        self.state = .reading
    }

    /// Notes that the drain is over. Later notifications still become followers, because a client that reads the error
    /// response late repeats them, too.
    mutating func becomeDeaf() { self.state = .deaf }

    /// Ends the output although the client still writes, because a circling client pauses only when it sees the end.
    mutating func endOutput() {
        guard case .draining(var drain) = self.state, drain.output == .open else { return }
        drain.output = .ending
        self.state = .draining(drain)
    }

    /// Notes that later notifications do not belong to the episode.
    private mutating func endFollowers() {
        guard let told = self.told, told.end == nil else { return }
        self.told?.end = self.ledger.next
    }

    mutating func violated(now: NIODeadline, _ effects: inout [Effect]) -> Action {
        let mayTell = self.state.mayTell
        let episode = self.state.drain?.episode
        if mayTell { self.deferAll(&effects) } else { self.endFollowers() }
        self.state = .ignoring(until: now + GatewayBounds.ignore)
        return mayTell ? .closeOutput : episode.map { .drained($0) } ?? .none
    }

    mutating func close(_ effects: inout [Effect]) -> Action {
        let episode = self.state.drain?.episode
        if self.state.mayTell { self.deferAll(&effects) } else { self.endFollowers() }
        self.discardedBytes += self.reader.pendingBytes
        self.state = .closed
        return .close(episode)
    }

    /// Forgets the rejections in the ledger, because this connection tells its one rejection at this time, or tells
    /// none. The other rejections are deferred, or the replay filter keeps them for copies.
    mutating func forgetRejections() {
        while self.ledger.rejection != nil { self.ledger.pass() }
    }

    mutating func releaseDue(now: NIODeadline, _ effects: inout [Effect]) {
        guard self.spool == .open else { return }
        for job in self.ledger.releaseDue(now: now) { effects.append(.release(job)) }
    }

    /// Notes whether a full window stops the reading.
    mutating func noteReading(now: NIODeadline) {
        if self.isReading {
            if self.stoppedAt != nil { self.resumedAt = now }
            self.stoppedAt = nil
        } else {
            self.stoppedAt = self.stoppedAt ?? now
        }
    }

    private mutating func deferAll(_ effects: inout [Effect]) {
        for rejection in self.ledger.removeAll() { effects.append(.deferRejection(of: rejection.job)) }
    }
}
