internal import DequeModule
package import FerryCore
internal import FerryMachine
internal import NIOCore

extension Dispatch {
    // MARK: To the upstream

    /// Passes the next notifications for an upstream to `body`, which removes those that the provider takes. Batches
    /// for the common connection come first, until no flow is queued for this connection, or `body` leaves
    /// some notifications in the batch. At most one batch for the open side connection follows.
    package mutating func withBatches(for upstream: Int, _ body: (UpstreamWay, inout PushBatch) -> Void) {
        guard !self.isAbandoned else { return }
        let outgoing = self.outgoing[upstream]
        repeat {
            while outgoing.batch.count < GatewayBounds.Jobs.batch, let flow = outgoing.common.popFirst() {
                self.takeTurn(of: flow, outgoing, over: nil)
            }
            guard !outgoing.batch.isEmpty else { break }
            body(.common(upstream: upstream), &outgoing.batch)
        } while outgoing.batch.isEmpty
        while outgoing.side.room > 0, let number = outgoing.side.number {
            if outgoing.copies.takesTurn(hasOthers: !outgoing.suspects.isEmpty) {
                self.takeTurnOfCopies(outgoing, over: number)
            } else if let flow = outgoing.suspects.popFirst() {
                self.takeTurn(of: flow, outgoing, over: number)
            } else {
                break
            }
        }
        guard !outgoing.sideBatch.isEmpty else { return }
        body(.side(SideID(upstream: upstream, number: outgoing.sideNumber)), &outgoing.sideBatch)
    }

    /// Removes and returns the side connections to close. Only late answers may still come on them.
    package mutating func takeEndedSides(of upstream: Int) -> [SideID] {
        self.outgoing[upstream].side.takeEnded().map { SideID(upstream: upstream, number: $0) }
    }

    /// Notes that a side connection ended by itself.
    mutating func lost(_ id: SideID, now: Moment) {
        self.outgoing[id.upstream].side.lost(id.number, now: now.monotonic)
        self.outgoing[id.upstream].dialIfNeeded(now: now.monotonic)
    }

    private mutating func takeTurn(of flow: Int, _ outgoing: Outgoing, over side: UInt64?) {
        self.flows[flow].isInOrder = false
        // The client's guesses may have moved to another flow since this flow was queued.
        guard self.hasSomething(flow) else { return }
        var room = side == nil ? self.flows[flow].credit.room : outgoing.side.room
        // The turns are swapped out and in again. A copy of the value would copy all waiting notifications.
        var turns = ConnectionTurns()
        if self.guessIsNext(flow, overSide: side != nil) {
            let identity = self.flows[flow].identity
            self.flows[flow].guessIsNext = false
            if side == nil { room = self.flows[flow].roomForGuesses }
            swap(&turns, &self.guesses[identity])
            turns.takeTurn(atMost: room) { self.goOut($0, flow, outgoing, over: side) }
            swap(&turns, &self.guesses[identity])
        } else {
            self.flows[flow].guessIsNext = true
            swap(&turns, &self.flows[flow].turns)
            turns.takeTurn(atMost: room) { self.goOut($0, flow, outgoing, over: side) }
            swap(&turns, &self.flows[flow].turns)
        }
        self.queue(flow)
    }

    private mutating func takeTurnOfCopies(_ outgoing: Outgoing, over side: UInt64) {
        var turns = ConnectionTurns()
        swap(&turns, &outgoing.copies.turns)
        turns.takeTurn(atMost: outgoing.side.room) { id in
            // The copy may have been given up meanwhile.
            guard let job = self.jobs[id], case .waitsForSide = job.way else { return }
            self.goOut(id, job.flow, outgoing, over: side)
        }
        swap(&turns, &outgoing.copies.turns)
        self.forgetOld(outgoing)
    }

    private mutating func goOut(_ id: JobID, _ flow: Int, _ outgoing: Outgoing, over side: UInt64?) {
        guard let job = self.jobs[id] else { return assertionFailure("a queued notification has no final answer") }
        if job.attempts == 0 {
            self.verdicts.count(job.scope.identity) {
                $0.waiting -= 1
                $0.forwarded += 1
            }
        }
        let (route, tick) = (self.flows[flow].route, self.tick)
        self.jobs.change(id) { job in
            // A guess gets its topic only now.
            if job.isGuess { job.begin(with: flow) }
            job.route = route
            job.attempts += 1
            job.way = side.map { .side($0) } ?? .common
            job.tick = tick
        }
        self.underWay += 1
        outgoing.underWay += 1
        if side == nil { self.flows[flow].credit.wentOut() } else { outgoing.side.wentOut() }
        let name = self.routes.topic(of: route)
        outgoing.append(job, topic: name, as: self.jobs.apnsID(of: id), tag: id.rawValue, to: side)
    }

    // MARK: Flows

    /// Queues a notification for its turn, after its gate has admitted it.
    mutating func enqueue(_ id: JobID, _ job: borrowing Job, now: Moment) {
        let flow = job.flow
        if job.wait != .turn { self.jobs.change(id) { $0.wait = .turn } }
        if job.needsOther {
            let until = now.monotonic + GatewayBounds.Jobs.otherConnection
            self.jobs.change(id) { $0.way = .waitsForSide(until: until) }
            self.outgoing(of: flow).copies.append(id, on: job.first.connection, until: until)
        } else if job.isGuess {
            self.guesses[job.scope.identity].append(id, on: job.first.connection)
        } else {
            self.flows[flow].turns.append(id, on: job.first.connection)
        }
        self.queue(flow)
        self.outgoing(of: flow).dialIfNeeded(now: now.monotonic)
    }

    /// Queues a flow for its turn, if it has notifications. A suspicious flow waits for a side connection. Any other
    /// flow is queued only if it has room on the common connection.
    mutating func queue(_ flow: Int) {
        guard !self.flows[flow].isInOrder, self.hasSomething(flow) else { return }
        if self.flows[flow].suspicion.isSuspicious {
            self.outgoing(of: flow).suspects.append(flow)
        } else {
            let isGuess = self.flows[flow].turns.isEmpty
            guard isGuess ? self.flows[flow].roomForGuesses > 0 : self.flows[flow].credit.room > 0 else { return }
            self.outgoing(of: flow).common.append(flow)
        }
        self.flows[flow].isInOrder = true
    }

    private func hasSomething(_ flow: Int) -> Bool {
        !self.flows[flow].turns.isEmpty || self.hasGuesses(flow)
    }

    /// Whether a guess has the flow's turn. While guesses have no room on the common connection, the other
    /// notifications of the flow go out.
    private func guessIsNext(_ flow: Int, overSide: Bool) -> Bool {
        guard self.hasGuesses(flow), !self.flows[flow].turns.isEmpty else { return self.flows[flow].turns.isEmpty }
        return self.flows[flow].guessIsNext && (overSide || self.flows[flow].roomForGuesses > 0)
    }

    private func hasGuesses(_ flow: Int) -> Bool {
        let identity = self.flows[flow].identity
        return flow == self.lastFlows[identity] && !self.guesses[identity].isEmpty
    }

    func outgoing(of flow: Int) -> Outgoing { self.outgoing[self.routes.upstream(of: self.flows[flow].route)] }

    /// Notes that a notification has its outcome. Counts the verdict for the flow's credit or for the side
    /// connection, and for the flow's ``TopicFlow/suspicion``.
    mutating func returned(_ job: borrowing Job, _ id: JobID, _ verdict: Verdict, now: Moment) {
        let flow = job.flow
        // The flow is queued at its present upstream, which a reload may have changed.
        let (outgoing, present) = (self.outgoing[self.routes.upstream(of: job.route)], self.outgoing(of: flow))
        switch job.way {
        case .none, .waitsForSide: return
        case .common:
            self.flows[flow].credit.returned(verdict, after: self.tick &- job.tick)
            if verdict == .taken { outgoing.taken += 1 }
        case .side(let number):
            outgoing.side.returned(number, verdict, after: self.tick &- job.tick, now: now.monotonic)
        }
        self.underWay -= 1
        outgoing.underWay -= 1
        self.jobs.change(id) { $0.way = .none }
        // Refusals by the old upstream say nothing about the present upstream.
        if outgoing === present,
            self.flows[flow].suspicion.answered(verdict, taken: outgoing.taken, now: now.monotonic)
        {
            // The flow leaves its queue, because its turns move from the common to the side connection, or back.
            self.leaveOrder(flow)
        }
        self.queue(flow)
        present.dialIfNeeded(now: now.monotonic)
    }

    /// Removes a flow from both queues of its upstream.
    mutating func leaveOrder(_ flow: Int) {
        guard self.flows[flow].isInOrder else { return }
        self.flows[flow].isInOrder = false
        let outgoing = self.outgoing(of: flow)
        outgoing.common.removeAll { $0 == flow }
        outgoing.suspects.removeAll { $0 == flow }
    }

    /// Lets a client's guesses begin with this flow.
    mutating func took(_ flow: Int, of identity: Int, now: Moment) {
        guard self.lastFlows[identity] != flow else { return }
        self.lastFlows[identity] = flow
        self.queue(flow)
        self.outgoing(of: flow).dialIfNeeded(now: now.monotonic)
    }

    /// Lets a client's guesses begin with the flow `next`, if the guesses begin with the job's flow, the job's flow is
    /// suspicious, and the gate of `next` is not shut. Without this change, APNs would refuse each guess once with the
    /// job's topic.
    mutating func avoid(_ job: borrowing Job, _ next: Int, now: Moment) {
        let identity = job.scope.identity
        guard self.lastFlows[identity] == job.flow, self.flows[job.flow].suspicion.isSuspicious,
            !self.routes.isShut(self.flows[next].route)
        else { return }
        self.took(next, of: identity, now: now)
    }

    /// Moves the notifications of a route that wait for their turn or for a side connection to the route's gate, which
    /// has shut. A client's guesses that would begin with this route begin with the client's first topic that has a
    /// warm gate. Without such a topic, the guesses wait at this gate, too.
    mutating func takeBack(_ route: Int, now: Moment) {
        for flow in self.flows.indices where self.flows[flow].route == route {
            for id in self.flows[flow].turns.takeAll() { self.hold(id, flow: flow) }
            let identity = self.flows[flow].identity
            guard flow == self.lastFlows[identity] else { continue }
            if let warm = self.active[identity].first(where: { self.routes.isWarm(self.flows[$0].route) }) {
                self.took(warm, of: identity, now: now)
            } else {
                for id in self.guesses[identity].takeAll() { self.hold(id, flow: flow) }
            }
        }
        let outgoing = self.outgoing[self.routes.upstream(of: route)]
        guard !outgoing.copies.isEmpty else { return }
        for id in outgoing.copies.turns.takeAll() {
            guard let job = self.jobs[id], case .waitsForSide = job.way else { continue }
            if self.flows[job.flow].route == route {
                self.jobs.change(id) { $0.way = .none }
                self.hold(id, flow: job.flow)
            } else {
                outgoing.copies.turns.append(id, on: job.first.connection)
            }
        }
        self.forgetOld(outgoing)
    }

    // MARK: Copies

    /// Notes that the copy of a notification needs another connection, if the connection of the last attempt may still
    /// be open. If this connection is a side connection, nothing more is sent over it.
    mutating func avoidConnection(of job: borrowing Job, _ id: JobID, _ outcome: Outcome, now: Moment) {
        guard outcome.mayLeaveConnectionOpen else { return }
        self.jobs.change(id) { $0.needsOther = true }
        guard case .side(let number) = job.way else { return }
        self.outgoing[self.routes.upstream(of: job.route)].side.leave(number)
    }

    /// Gives up the copies that have waited too long for a side connection.
    mutating func giveUpCopies(now: Moment) -> [(JobID, ReplayScope, Settled)] {
        var ended: [(JobID, ReplayScope, Settled)] = []
        for outgoing in self.outgoing {
            while let entry = outgoing.copies.popEntry(dueBy: now.monotonic) {
                guard let job = self.jobs[entry.job], job.way == .waitsForSide(until: entry.until) else { continue }
                ended.append(
                    (entry.job, job.scope, self.bury(entry.job, job, .uncertain(.notRepeated), now: now.epochSeconds))
                )
            }
        }
        return ended
    }

    /// Removes the entries of copies that have stopped waiting, up to the first entry whose copy still waits.
    mutating func forgetOld(_ outgoing: Outgoing) {
        outgoing.copies.removeEntries { self.jobs[$0.job]?.way != .waitsForSide(until: $0.until) }
    }

    /// Adds a notification to those that wait at the gate of its topic.
    mutating func hold(_ id: JobID, flow: Int) {
        self.jobs.change(id) { job in
            job.wait = .gate
            job.isTimed = false
            if job.isGuess { job.begin(with: flow) }
        }
        self.routes.hold(id, of: flow, at: self.flows[flow].route)
    }
}

extension Outgoing {
    /// Opens a side connection if a suspicious flow or a copy waits for a side connection, and ``SideConnection``
    /// allows another connection at this time.
    func dialIfNeeded(now: NIODeadline) {
        if self.wantsSide { self.side.dial(now: now) }
    }

    /// When a side connection may be opened; nil if no notification waits for a side connection, or if
    /// ``SideConnection`` cannot open another.
    var dialAt: NIODeadline? { self.wantsSide ? self.side.dialAt : nil }

    /// Whether a suspicious flow or a copy waits for a side connection.
    var wantsSide: Bool { !self.suspects.isEmpty || !self.copies.isEmpty }
}

extension Outcome {
    /// Whether the notification may have arrived, over a connection that may still be open.
    fileprivate var mayLeaveConnectionOpen: Bool {
        switch self {
        case .uncertain(.positionUnknown), .uncertain(.peerCloses), .uncertain(.shutDown), .uncertain(.released): false
        case .uncertain: true
        default: false
        }
    }
}
