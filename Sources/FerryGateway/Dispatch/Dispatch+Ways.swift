internal import DequeModule
internal import FerryBinary
package import FerryCore
internal import FerryMachine
internal import NIOCore

extension Dispatch {
    // MARK: To the upstream

    /// Hands the next notifications for an upstream to `body`, as often as it takes all of them.
    package mutating func withBatches(for upstream: Int, _ body: (UpstreamWay, inout PushBatch) -> Void) {
        let outgoing = self.outgoing[upstream]
        repeat {
            while outgoing.batch.count < DispatchBounds.batch, let lane = outgoing.common.popFirst() {
                self.takeTurn(of: lane, outgoing, over: nil)
            }
            guard !outgoing.batch.isEmpty else { break }
            body(.common(upstream: upstream), &outgoing.batch)
        } while outgoing.batch.isEmpty
        while outgoing.side.room > 0, let number = outgoing.side.number {
            if outgoing.copies.takesTurn(hasOthers: !outgoing.suspects.isEmpty) {
                self.takeTurnOfCopies(outgoing, over: number)
            } else if let lane = outgoing.suspects.popFirst() {
                self.takeTurn(of: lane, outgoing, over: number)
            } else {
                break
            }
        }
        guard !outgoing.sideBatch.isEmpty else { return }
        body(.side(SideID(upstream: upstream, number: outgoing.sideNumber)), &outgoing.sideBatch)
    }

    /// Removes and returns the side connections that are to be closed. Nothing is under way on them.
    package mutating func takeEndedSides(of upstream: Int) -> [SideID] {
        self.outgoing[upstream].side.takeEnded().map { SideID(upstream: upstream, number: $0) }
    }

    /// Notes that a side connection ended by itself.
    mutating func lost(_ id: SideID, now: Moment) {
        self.outgoing[id.upstream].side.lost(id.number, now: now.monotonic)
        self.outgoing[id.upstream].dialIfNeeded(now: now.monotonic)
    }

    private mutating func takeTurn(of lane: Int, _ outgoing: Outgoing, over side: UInt64?) {
        self.lanes[lane].isInOrder = false
        // Meanwhile its client's tokens may begin with another topic.
        guard self.hasSomething(lane) else { return }
        var room = side == nil ? self.lanes[lane].credit.room : outgoing.side.room
        // In place: a copy of the turns would be a copy of what waits.
        var turns = ConnectionTurns()
        if self.lanes[lane].turns.isEmpty {
            if side == nil { room = self.lanes[lane].roomForGuesses }
            swap(&turns, &self.guesses[self.lanes[lane].identity])
            turns.takeTurn(atMost: room) { self.goOut($0, lane, outgoing, over: side) }
            swap(&turns, &self.guesses[self.lanes[lane].identity])
        } else {
            swap(&turns, &self.lanes[lane].turns)
            turns.takeTurn(atMost: room) { self.goOut($0, lane, outgoing, over: side) }
            swap(&turns, &self.lanes[lane].turns)
        }
        self.queue(lane)
    }

    private mutating func takeTurnOfCopies(_ outgoing: Outgoing, over side: UInt64) {
        var turns = ConnectionTurns()
        swap(&turns, &outgoing.copies.turns)
        turns.takeTurn(atMost: outgoing.side.room) { id in
            guard let job = self.jobs[id] else { return }
            self.goOut(id, self.lane(of: job), outgoing, over: side)
        }
        swap(&turns, &outgoing.copies.turns)
        self.forgetOld(outgoing)
    }

    private mutating func goOut(_ id: JobID, _ lane: Int, _ outgoing: Outgoing, over side: UInt64?) {
        // It may have been given up meanwhile.
        guard let job = self.jobs[id] else { return }
        if job.attempts == 0 {
            self.counts.waiting -= 1
            self.counts.forwarded += 1
        }
        if job.isGuess {
            // The topic was left open until now.
            self.jobs[id]?.isGuess = false
            self.jobs[id]?.topic = self.lanes[lane].topic
            self.jobs[id]?.firstTopic = self.lanes[lane].topic
        }
        self.jobs[id]?.attempts += 1
        self.jobs[id]?.way = side.map { .side($0) } ?? .common
        if side == nil { self.lanes[lane].credit.wentOut() } else { outgoing.side.wentOut() }
        let topic = self.routes[self.lanes[lane].route].topic
        outgoing.append(job, topic: topic, as: self.apnsID(of: id), tag: id.rawValue, to: side)
    }

    // MARK: Lanes

    /// The lane of a client's topic.
    func lane(of identity: Int, topic: Int) -> Int { self.firstLanes[identity] + topic }

    func lane(of job: borrowing Job) -> Int { self.lane(of: job.scope.identity, topic: job.topic) }

    /// Lets a notification wait for its turn. Its gate has admitted it.
    mutating func line(up id: JobID, _ job: borrowing Job, now: Moment) {
        let lane = self.lane(of: job)
        if job.needsOther {
            let until = now.monotonic + DispatchBounds.otherConnection
            self.jobs[id]?.way = .waitsForSide(until: until)
            self.outgoing(of: lane).copies.append(id, on: job.first.connection, until: until)
        } else if job.isGuess {
            self.guesses[job.scope.identity].append(id, on: job.first.connection)
        } else {
            self.lanes[lane].turns.append(id, on: job.first.connection)
        }
        self.queue(lane)
        self.outgoing(of: lane).dialIfNeeded(now: now.monotonic)
    }

    /// Lets a lane have its turn, if it has something and may send it.
    private mutating func queue(_ lane: Int) {
        guard !self.lanes[lane].isInOrder, self.hasSomething(lane) else { return }
        if self.lanes[lane].suspicion.isSuspicious {
            self.outgoing(of: lane).suspects.append(lane)
        } else {
            let isGuess = self.lanes[lane].turns.isEmpty
            guard isGuess ? self.lanes[lane].roomForGuesses > 0 : self.lanes[lane].credit.room > 0 else { return }
            self.outgoing(of: lane).common.append(lane)
        }
        self.lanes[lane].isInOrder = true
    }

    private func hasSomething(_ lane: Int) -> Bool {
        if !self.lanes[lane].turns.isEmpty { return true }
        let identity = self.lanes[lane].identity
        return self.lanes[lane].topic == self.lastTopics[identity] && !self.guesses[identity].isEmpty
    }

    func outgoing(of lane: Int) -> Outgoing { self.outgoing[self.routes[self.lanes[lane].route].upstream] }

    /// Notes that a notification is under way no more, and what its outcome says of its client.
    mutating func returned(_ job: borrowing Job, _ id: JobID, _ verdict: Verdict, now: Moment) {
        let lane = self.lane(of: job)
        let outgoing = self.outgoing(of: lane)
        switch job.way {
        case .none, .waitsForSide: return
        case .common: self.lanes[lane].credit.returned(verdict)
        case .side(let number): outgoing.side.returned(number, verdict, now: now.monotonic)
        }
        self.jobs[id]?.way = .none
        if self.lanes[lane].suspicion.answered(verdict, now: now.monotonic), self.lanes[lane].isInOrder {
            // It takes its turns elsewhere.
            if self.lanes[lane].suspicion.isSuspicious {
                outgoing.common.removeAll { $0 == lane }
            } else {
                outgoing.suspects.removeAll { $0 == lane }
            }
            self.lanes[lane].isInOrder = false
        }
        self.queue(lane)
        outgoing.dialIfNeeded(now: now.monotonic)
    }

    /// Notes the topic with which a client's tokens begin, if nothing is known of them: the one that APNs took last.
    mutating func took(_ topic: Int, of identity: Int, now: Moment) {
        guard self.lastTopics[identity] != topic else { return }
        self.lastTopics[identity] = topic
        let lane = self.lane(of: identity, topic: topic)
        self.queue(lane)
        self.outgoing(of: lane).dialIfNeeded(now: now.monotonic)
    }

    /// Lets a client's tokens begin with the next topic, if this one was wrong for too many. Until APNs takes the first
    /// with the other topic, the rest would be refused, too.
    mutating func avoid(_ job: borrowing Job, _ next: Int, now: Moment) {
        let identity = job.scope.identity
        guard self.lastTopics[identity] == job.topic, self.lanes[self.lane(of: job)].suspicion.isSuspicious else {
            return
        }
        self.took(next, of: identity, now: now)
    }

    /// Takes what waits for its turn with this topic, because its gate has shut.
    mutating func takeBack(_ route: Int) {
        for lane in self.lanes.indices where self.lanes[lane].route == route {
            for id in self.lanes[lane].turns.takeAll() { self.held[route].append(id, of: lane) }
            let identity = self.lanes[lane].identity
            guard self.lanes[lane].topic == self.lastTopics[identity] else { continue }
            for id in self.guesses[identity].takeAll() { self.hold(id, lane: lane) }
        }
        let outgoing = self.outgoing[self.routes[route].upstream]
        guard !outgoing.copies.isEmpty else { return }
        for id in outgoing.copies.turns.takeAll() {
            guard let job = self.jobs[id] else { continue }
            let lane = self.lane(of: job)
            if self.lanes[lane].route == route {
                self.jobs[id]?.way = .none
                self.hold(id, lane: lane)
            } else {
                outgoing.copies.turns.append(id, on: job.first.connection)
            }
        }
        self.forgetOld(outgoing)
    }

    // MARK: Copies

    /// Lets the copy of a notification go over another connection than before, if that one may still be open.
    mutating func avoidConnection(of job: borrowing Job, _ id: JobID, _ outcome: Outcome, now: Moment) {
        guard outcome.mayLeaveConnectionOpen else { return }
        self.jobs[id]?.needsOther = true
        guard case .side(let number) = job.way else { return }
        self.outgoing(of: self.lane(of: job)).side.leave(number)
    }

    /// Gives up the copies that found no other connection in time.
    mutating func giveUpCopies(now: Moment) -> [(JobID, ReplayScope, Settled)] {
        var ended: [(JobID, ReplayScope, Settled)] = []
        for outgoing in self.outgoing {
            while let entry = outgoing.copies.popEntry(dueBy: now.monotonic) {
                guard let job = self.jobs[entry.job], job.way == .waitsForSide(until: entry.until) else { continue }
                ended.append((entry.job, job.scope, self.bury(entry.job, job, .uncertain(.notRepeated))))
            }
        }
        return ended
    }

    /// Forgets the deadlines of copies that have gone out.
    private mutating func forgetOld(_ outgoing: Outgoing) {
        outgoing.copies.removeEntries { self.jobs[$0.job]?.way != .waitsForSide(until: $0.until) }
    }

    /// Lets a notification wait at the gate of its topic.
    mutating func hold(_ id: JobID, lane: Int) {
        if self.jobs[id]?.isGuess == true {
            self.jobs[id]?.isGuess = false
            self.jobs[id]?.topic = self.lanes[lane].topic
            self.jobs[id]?.firstTopic = self.lanes[lane].topic
        }
        self.held[self.lanes[lane].route].append(id, of: lane)
    }
}

extension Outgoing {
    /// Opens a side connection if something waits for one.
    func dialIfNeeded(now: NIODeadline) {
        if self.wantsSide { self.side.dial(now: now) }
    }

    /// When a side connection may be opened that something waits for.
    var dialAt: NIODeadline? { self.wantsSide ? self.side.dialAt : nil }

    private var wantsSide: Bool { !self.suspects.isEmpty || !self.copies.isEmpty }
}

extension Outcome {
    /// Whether the notification may have arrived over a connection that may still be open.
    fileprivate var mayLeaveConnectionOpen: Bool {
        switch self {
        case .uncertain(.positionUnknown), .uncertain(.peerCloses), .uncertain(.shutDown), .uncertain(.released): false
        case .uncertain: true
        default: false
        }
    }
}
