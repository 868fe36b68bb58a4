internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension GatewayMachine {
    // MARK: The store

    /// The epoch of this process; nil without a store.
    var epoch: UInt64? { self.journal?.epoch }

    /// Returns the commits that must go to the store now, in order. Call ``stored(_:_:now:)`` with each answer.
    func takeCommits(now: Moment) -> [StoreCommit] {
        self.noteLines(now: now)
        return self.journal?.takeCommits(now: now) ?? []
    }

    /// Closes the open segment, so that ``takeCommits(now:)`` returns all records.
    func sealJournal(now: Moment) {
        self.noteLines(now: now)
        self.journal?.seal(now: now)
    }

    /// Takes the answer of the store to the commit with this segment.
    func stored(_ segment: UInt64, _ answer: StoreAnswer, now: Moment) {
        let before = self.journal?.spool(now: now.monotonic)
        var answer = answer
        if answer == .fenced, self.isShared {
            self.handOver(now: now)
            // The new owner has or gets this commit. So it counts as durable, and the next commits follow.
            answer = .durable
        }
        if answer == .fenced { self.storeTaken(now: now) }
        if self.journal?.answered(segment, answer, now: now.monotonic) ?? false {
            if self.handover == nil {
                self.goOn(now: now)
            } else {
                self.releaseHandedOver(now: now)
                self.openDurable(now: now)
            }
        }
        self.goOnHandingOver(now: now)
        self.wakeClients(since: before, now: now)
    }

    /// Continues the work of an earlier process. Call it before the first connection.
    ///
    /// - Throws: ``StoreError`` when the configuration does not name a client that has notifications in the store.
    func restore(
        _ recovery: consuming Recovery,
        feedback: [StoreRow],
        habits: [StoreRow],
        gates: [StoreRow],
        identities: [String],
        now: Moment
    ) throws(StoreError) {
        let numbers = Dictionary(identities.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        if let missing = recovery.identities.first(where: { numbers[$0] == nil }) {
            throw StoreError(
                "The store has notifications of the client '\(missing)', which the configuration does not name. Name it "
                    + "until they are delivered, or move the store away."
            )
        }
        self.restore(habits, identities: numbers, now: now)
        let moved = self.dispatch.routes.restore(gates, of: self.dispatch.identities, now: now.epochSeconds)
        let left = Set(self.dispatch.identities.filter { !$0.isConfigured }.map(\.storeName))
        for row in GateRow.outdated(gates, clients: identities, left: left, now: now.epochSeconds) {
            self.journal?.forget(row, in: .gates, now: now)
        }
        let episodes = recovery.takeEpisodes()
        let segments = recovery.segments(now: now.monotonic)
        for segment in segments { self.journal?.segments.add(segment) }
        self.journal?.restored(now: now.monotonic)
        for (job, rejected, isFollower) in recovery.untold {
            guard let identity = numbers[rejected.client.identity] else { continue }
            // Another host or credential refused the token. The present host or credential may accept it.
            guard !moved.contains(rejected.client.identity) else { continue }
            self.restore(job, rejected: rejected.token, rejected.status, of: identity, isFollower: isFollower)
        }
        for episode in episodes {
            guard self.restore(episode, as: episode.id, identities: numbers, now: now) else { continue }
            guard episode.kind == .restored, let last = segments.last?.number else { continue }
            self.journal?.segments.open(episode.id, since: .distantPast, last: last)
        }
        for (id, unanswered) in recovery.unanswered.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            guard let identity = numbers[unanswered.client.identity] else { continue }
            self.restore(id, Job(unanswered, identity: identity, now: now), now: now)
        }
        for row in feedback {
            guard let change = FeedbackRows.Change(row, identities: numbers), let since = change.since else { continue }
            self.restore(.init(token: change.token, since: since), of: change.identity)
        }
        self.collectNotes(now: now)
    }
}

extension GatewayMachine {
    /// Opens an episode of an earlier process. Returns whether its client may send copies.
    func restore(
        _ episode: Recovery.Episode,
        as id: EpisodeID,
        identities: [String: Int],
        now: Moment
    ) -> Bool {
        guard let identity = identities[episode.client.identity] else { return false }
        // A client that has been silent for this time sends no copies.
        let silence = GatewayBounds.crashLifetime.nanoseconds / 1_000_000_000
        guard Int64(now.epochSeconds) < episode.heardAt + silence else { return false }
        let scope = ReplayScope(identity: identity, address: episode.client.address)
        // A client that repeats nothing has no episodes, and no segments are kept for them.
        guard self.sendsAgain(scope) else { return false }
        self.restore(id, episode.kind, scope, episode.followers, now: now)
        return true
    }

    /// Takes the newest habits, at most ``GatewayBounds/scopes``. The store forgets habits that are too old. A store
    /// that is not shared also forgets all other rows that are not taken.
    private func restore(_ rows: [StoreRow], identities: [String: Int], now: Moment) {
        var habits: [(row: StoreRow, habit: ClientHabit)] = []
        for row in rows {
            let habit = ClientHabit(row, identities: identities)
            if let remains = habit?.remains(now: now.epochSeconds) {
                habits.append((row, remains))
            } else if !self.isShared || habit != nil {
                // In a shared store, another node may name the client.
                self.journal?.forget(row, in: .habits, now: now)
            }
        }
        habits.sort { $0.habit.lastSeen > $1.habit.lastSeen }
        // The oldest habit comes first, so that the scopes forget it first.
        for (index, (row, habit)) in habits.enumerated().reversed() {
            guard index < GatewayBounds.scopes else {
                // In a shared store, the habit may belong to a client of another shard.
                if !self.isShared { self.journal?.forget(row, in: .habits, now: now) }
                continue
            }
            self.restore(habit, now: now)
        }
    }
}

extension Job {
    /// A notification of an earlier process.
    init(_ unanswered: Recovery.Unanswered, identity: Int, now: Moment) {
        // The monotonic clock begins at boot, so an earlier time is kept as ``Job/ageAtBoot``.
        let age = TimeAmount.seconds(Int64(now.epochSeconds) - unanswered.time)
        let uptime = now.monotonic - .uptimeNanoseconds(0)
        self = unanswered.token.withUnsafeBufferPointer { token in
            unanswered.payload.withUnsafeBufferPointer { payload in
                Job(
                    scope: ReplayScope(identity: identity, address: unanswered.client.address),
                    token: token,
                    payload: payload,
                    expiration: unanswered.expiration,
                    priority: unanswered.priority,
                    first: unanswered.reader,
                    readAt: now.monotonic - min(age, uptime),
                    readAtSeconds: unanswered.readAt
                )
            }
        }
        self.ageAtBoot = max(age - uptime, .zero)
        self.segment = unanswered.segment
        self.doubts = unanswered.doubts
        self.mayHaveArrived = true
        self.isNamed = unanswered.isNamed
        // The client's connection has ended, or the client already counts the notification as accepted.
        self.isReleased = true
    }
}
