internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The late segments: segments that a former owner of a shared store handed over, because it could no longer commit
/// them as the owner.
extension GatewayMachine {
    /// If more late segments than this number are remembered, all of them are forgotten. Nothing is lost by this,
    /// because a segment comes again only soon after its handover.
    private static let seenLimit = 65_536

    /// Takes late segments. A segment that was taken over before may come again, if a failover of the database lost the
    /// segment and the former owner handed it over again. Such a segment is only marked as taken over.
    ///
    /// A notification without an answer becomes a job. The job goes out when the commit that takes the late segment
    /// over is durable. The notifications of each connection open an episode, as after a crash.
    func takeOver(_ segments: [StoredSegment], now: Moment) {
        // During a handover or a shutdown, late segments stay in the store for the next owner.
        guard self.handover == nil, self.endsAt == nil, let journal = self.journal else { return }
        if self.seenLate.count > Self.seenLimit { self.seenLate = [:] }
        let late = segments.filter { self.seenLate[$0.number] == nil }
        for segment in segments where self.seenLate[segment.number] == true {
            self.journal?.tookOver(segment.number, now: now)
        }
        guard !late.isEmpty else { return }
        let identities = Dictionary(
            self.dispatch.identities.enumerated().map { ($1.storeName, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        var left: [UInt64: String] = [:]
        var recovery = journal.recovery(of: late, now: now) { name, token, payload in
            self.key(identities[name], token, payload)
        } refused: {
            left[$0] = $1.description
        }
        for unanswered in recovery.unanswered.values where identities[unanswered.client.identity] == nil {
            left[unanswered.segment] =
                "A late segment has notifications of the client '\(unanswered.client.identity)', which the configuration "
                + "does not name. Name it, and start anew."
        }
        for reason in Set(left.values).sorted() { self.dispatch.verdicts.events.append(.storeTrouble(reason)) }
        self.openLate(&recovery, identities: identities, now: now)
        for (id, unanswered) in recovery.unanswered.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where left[unanswered.segment] == nil {
            guard let identity = identities[unanswered.client.identity] else { continue }
            // The former owner may have rewritten a notification that this process has from an earlier segment.
            guard self.takenOver.insert(id).inserted else { continue }
            self.takeOver(Job(unanswered, identity: identity, now: now), as: id, now: now)
        }
        for segment in late {
            let isTakenOver = left[segment.number] == nil
            self.seenLate[segment.number] = isTakenOver
            if isTakenOver { self.journal?.tookOver(segment.number, now: now) }
        }
        self.collectNotes(now: now)
    }

    private func takeOver(_ job: consuming Job, as id: JobID, now: Moment) {
        self.dispatch.verdicts.count(job.scope.identity) { $0.recovered += 1 }
        self.late.takenOver += 1
        job.isTimed = false
        job.isCarried = true
        self.journal?.takeOver(&job, as: id, now: now)
        self.dispatch.take(job, as: id)
        if let segment = self.journal?.number { self.unsent.append((segment, id)) }
    }

    /// Opens the episodes, and defers the rejections that no error response has named. The rejection of a follower is
    /// not deferred, because a copy of the follower may tell it.
    private func openLate(_ recovery: inout Recovery, identities: [String: Int], now: Moment) {
        let episodes = recovery.takeEpisodes()
        for (job, rejected, isFollower) in recovery.untold {
            guard let identity = identities[rejected.client.identity] else { continue }
            self.restore(job, rejected: rejected.token, rejected.status, of: identity, isFollower: isFollower)
        }
        for episode in episodes {
            var id = episode.id
            if episode.kind == .crash {
                // The connection may have an episode from an earlier segment already.
                self.lateEpisodes += 1
                id.sequence = .max - self.lateEpisodes
            }
            _ = self.restore(episode, as: id, identities: identities, now: now)
        }
    }

    private func key(_ identity: Int?, _ token: ArraySlice<UInt8>, _ payload: ArraySlice<UInt8>) -> ReplayKey {
        let topic = identity.map { self.dispatch.topic(of: $0) } ?? []
        return token.withUnsafeBufferPointer { token in
            payload.withUnsafeBufferPointer { self.makeKey(topic, token, $0) }
        }
    }
}
