internal import DequeModule
internal import FerryCore
internal import FerryMachine

/// The work that waits for the store, and the state that an earlier process left there.
extension GatewayMachine {
    /// Does the work whose segments are durable now.
    func goOn(now: Moment) {
        guard let durable = self.journal?.durable else { return }
        while let first = self.unsettled.first, first.segment <= durable {
            self.unsettled.removeFirst()
            self.turn(of: self.place(of: first.scope), now: now) { scope, _, effects in
                self.pass(first.settled, first.job, &scope, scope.standing(now: now), &effects, now: now)
            }
        }
        self.openDurable(now: now)
        while let first = self.unsent.first, first.segment <= durable {
            self.unsent.removeFirst()
            let isHeld = !self.dispatch.send(first.job, now: now)
            self.releaseSpooled(first.job, isHeld: isHeld, now: now)
        }
    }

    /// Tells the connections which episodes are durable. The error responses of these episodes may then be written.
    func openDurable(now: Moment) {
        guard let durable = self.journal?.durable else { return }
        while let first = self.unopened.first, first.segment <= durable {
            self.unopened.removeFirst()
            // The connection may have ended meanwhile.
            guard let place = self.places[first.episode.connection] else { continue }
            self.turn(of: place, now: now) { $0.durable(first.episode, $1, &$2) }
        }
    }

    /// Counts handed-over notifications as accepted, because the new owner sends them. So status 10 can name the last
    /// of these notifications.
    func releaseHandedOver(now: Moment) {
        guard let durable = self.journal?.durable else { return }
        while let first = self.unsent.first, first.segment <= durable {
            self.unsent.removeFirst()
            self.late.handedOver += 1
            self.releaseSpooled(first.job, isHeld: true, now: now)
        }
    }

    /// Releases a durable notification if its client has mode `spool`, or if `isHeld`. A notification is held at a
    /// shut gate (see ``releaseHeldBack(_:_:now:)``), and during a handover.
    private func releaseSpooled(_ id: JobID, isHeld: Bool, now: Moment) {
        guard let job = self.dispatch.jobs[id],
            isHeld || self.dispatch.identities[job.scope.identity].mode == .spool
        else { return }
        self.dispatch.release(id)
        guard let place = self.places[job.first.connection] else { return }
        self.turn(of: place, now: now) { $0.release(job.first, $1, &$2) }
    }

    /// Whether the client may repeat followers.
    func sendsAgain(_ scope: ReplayScope) -> Bool {
        self.scopes.replayClass(of: self.place(of: scope)) != .never
    }

    /// Passes the state of the store to every connection, if the state has changed.
    ///
    /// - Parameter before: the state of the store before its last answer; nil without an answer. A connection may have
    ///   seen this state.
    func wakeClients(since before: GatewayConnection.Spool? = nil, now: Moment) {
        let spool = self.journal?.spool(now: now.monotonic) ?? .open
        guard spool != self.lastSpool || spool != before ?? spool else { return }
        self.lastSpool = spool
        // The turn of one connection may end another connection of its scope.
        for (id, place) in self.places where self.places[id] != nil {
            self.turn(of: place, now: now) { $0.look(id, $1, &$2) }
        }
    }

    /// Rewrites the last unanswered jobs of old segments, so that the segments can be dropped.
    func carrySparse(now: Moment) {
        let segments = self.journal?.timePassed(now: now.monotonic) ?? []
        // At the shutdown, no job may depend on a segment that is still to be written.
        guard self.endsAt == nil, self.handover == nil else { return }
        // An owner that is cut off from the store may have been replaced. A later owner would then take a rewritten job
        // for a new one.
        guard !self.isShared || self.journal?.spool(now: now.monotonic) == .open else { return }
        for segment in segments {
            let read = segment.jobs.map { $0.map { JobID(rawValue: $0) } } ?? []
            for id in read + segment.carried {
                // The next sweep rewrites the remaining jobs. If one segment took all jobs, every new record would wait
                // for this large segment.
                guard self.journal?.openLength ?? 0 < Segment.limit else { return }
                self.dispatch.jobs.change(id) { job in
                    if job.segment == segment.number { self.journal?.carry(&job, as: id, now: now) }
                }
            }
        }
    }

    func restore(_ id: EpisodeID, _ kind: EpisodeKind, _ scope: ReplayScope, _ followers: [Follower], now: Moment) {
        self.turn(of: self.place(of: scope), now: now) { $0.restore(id, kind, followers, now: now, &$2) }
    }

    func restore(_ id: JobID, _ job: consuming Job, now: Moment) {
        self.dispatch.verdicts.count(job.scope.identity) { $0.recovered += 1 }
        if self.isShared { self.takenOver.insert(id) }
        job.isTimed = false
        self.dispatch.take(job, as: id)
        self.dispatch.send(id, now: now)
    }

    func restore(
        _ id: JobID,
        rejected token: [UInt8],
        _ status: BinaryStatus,
        of identity: Int,
        isFollower: Bool
    ) {
        self.dispatch.keep(id, token, status, of: identity)
        if !isFollower { self.dispatch.verdicts.deferRejection(of: id, client: identity) }
    }

    func restore(_ habit: ClientHabit, now: Moment) {
        self.turn(of: self.place(of: habit.scope), now: now) { scope, _, _ in
            scope.restore(habit.habits, habit.replayClass, shownAt: habit.shownAt)
        }
    }

    func restore(_ row: FeedbackRows.Row, of identity: Int) {
        self.dispatch.verdicts.feedback.restore(row, of: identity)
    }
}
