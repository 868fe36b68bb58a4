internal import FerryCore
internal import NIOCore

/// The ends of episodes, and their evidence about the client.
extension ReplayFilter {
    // MARK: The end of episodes

    /// When to call ``timePassed(now:effects:)``; nil if no call is needed, or while the clock stands still.
    var nextDeadline: NIODeadline? { self.wakeAt.flatMap { self.clock.time(of: $0) } }

    /// Ends the episodes, and drops the entries, whose time has come. An early call does no harm.
    mutating func timePassed(now: NIODeadline, effects: inout [Effect]) {
        guard let wakeAt else { return }
        let now = self.clock.reading(now)
        guard wakeAt <= now else { return }
        self.wakeAt = nil
        var index = 0
        while index < self.episodes.count {
            self.drop(self.episodes[index].trimmed(now: now), &effects)
            let end = self.episodes[index].end(unmatchedLifetime: self.unmatchedLifetime)
            if let end, end <= now || self.episodes[index].isComplete(now: now) {
                self.finish(index, isJudged: true, &effects)
            } else {
                self.schedule(index)
                index += 1
            }
        }
    }

    private var unmatchedLifetime: TimeAmount {
        if case .resends = self.replayClass { GatewayBounds.provenLifetime } else { GatewayBounds.unmatchedLifetime }
    }

    mutating func schedule(_ index: Int) {
        guard let next = self.episodes[index].nextDeadline(unmatchedLifetime: self.unmatchedLifetime) else { return }
        self.wakeAt = self.wakeAt.map { min($0, next) } ?? next
    }

    /// Ends a changed episode that is complete. Otherwise notes whether the episode proves that the client re-sends,
    /// and the episode's next deadline.
    mutating func conclude(_ index: Int, now: NIODeadline, _ effects: inout [Effect]) {
        guard !self.episodes[index].isComplete(now: now) else {
            self.finish(index, isJudged: true, &effects)
            return
        }
        // Copies of the last followers may still come, so the matches prove only a part of the reach.
        if let matchCount = self.episodes[index].proves() {
            self.prove { $0.proven = max($0.proven, matchCount) }
        }
        self.schedule(index)
    }

    mutating func finish(_ index: Int, isJudged: Bool, _ effects: inout [Effect]) {
        let episode = self.episodes.remove(at: index)
        if episode.kind == .crash { self.crashCount -= 1 }
        if self.episodes.isEmpty { for connection in self.rows.keys { self.rows[connection]?.doubted = nil } }
        self.entryCount -= episode.count
        self.drop(episode.unmatched, &effects)
        let isUnheard = isJudged && episode.isUnheard
        effects.append(.end(episode.id, isUnheard: isUnheard, named: episode.namedJob))
        guard isJudged else { return }
        switch episode.evidence {
        case .nothing:
            break
        case .resends:
            self.prove { $0.showed(earliest: episode.earliestMatch ?? 0, of: episode.count) }
        case .miss:
            self.misses += 1
            guard self.misses >= GatewayBounds.missLimit, !self.isConfigured else { return }
            self.replayClass = .never
            while !self.episodes.isEmpty { self.finish(0, isJudged: false, &effects) }
            self.forgetOvertakers()
        }
    }

    private mutating func prove(_ change: (inout Reach) -> Void) {
        self.misses = 0
        switch self.replayClass {
        case .resends(var reach):
            change(&reach)
            self.replayClass = .resends(reach)
        case .unknown where !self.isConfigured:
            var reach = Reach()
            change(&reach)
            self.replayClass = .resends(reach)
        case .unknown, .never:
            break
        }
    }

    mutating func drop(_ entries: [(job: JobID, fate: JobFate)], _ effects: inout [Effect]) {
        for entry in entries {
            self.running[entry.job] = nil
            if case .rejected = entry.fate { effects.append(.deferRejection(of: entry.job)) }
        }
    }
}
