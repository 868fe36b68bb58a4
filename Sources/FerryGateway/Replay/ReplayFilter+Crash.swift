internal import FerryCore
internal import NIOCore

/// Copies of notifications on connections that a crash ended. No error response was written, so each client decides
/// itself how many notifications it repeats.
///
/// The first notifications of a new connection may be copies of any of the last notifications before the crash. After
/// three new notifications, only a row of copies in their old order counts. Deliberate repeats seldom come in such a
/// row. A row of three that reaches the last notification before the crash ends the episode: copies end there, but a
/// list that a program sends every few seconds goes on.
extension ReplayFilter {
    /// A row of copies on one connection, of one episode.
    struct CrashRow: Sendable {
        let episode: EpisodeID
        /// The position of the follower whose copy came last.
        var position: Int
        var length = 1
        /// The number of notifications without a match since the last copy of this row. A constant payload counts only
        /// if the client is known to send again.
        var misses = 0
        /// Whether the row has only its first notification, which was forwarded because it may be a deliberate
        /// repeat.
        var isDoubted: Bool
    }

    /// Consumes the follower of a crash whose copy this notification is. Returns nil if no follower fits, or if the
    /// notification only begins a row that may be a deliberate repeat.
    mutating func continues(
        _ offered: Follower,
        _ origin: Origin,
        now: NIODeadline,
        _ effects: inout [Effect]
    ) -> Episode.Match? {
        guard self.crashCount > 0, origin.draining == nil else { return nil }
        let isProven = if case .resends = self.replayClass { true } else { false }
        guard !offered.isConstant || isProven else { return nil }
        var rows = self.crashRows[origin.connection] ?? []
        defer { self.crashRows[origin.connection] = rows.isEmpty ? nil : rows }
        for place in rows.indices {
            guard let index = self.index(of: rows[place].episode),
                let position = self.episodes[index].next(offered.key, after: rows[place].position)
            else { continue }
            if rows[place].isDoubted { self.forget(rows[place].position, index, &effects) }
            rows[place].position = position
            rows[place].length += 1
            rows[place].misses = 0
            rows[place].isDoubted = false
            return self.take(position, index, rows[place].length, now: now, &effects)
        }
        for index in self.episodes.indices.reversed() where self.episodes[index].kind == .crash {
            guard let position = self.episodes[index].newest(offered.key) else { continue }
            let id = self.episodes[index].id
            rows.removeAll { $0.episode == id }
            rows.append(CrashRow(episode: id, position: position, isDoubted: !origin.isOpening))
            return origin.isOpening ? self.take(position, index, 1, now: now, &effects) : nil
        }
        for place in rows.indices { rows[place].misses += 1 }
        rows.removeAll { $0.misses >= GatewayBounds.crashMisses }
        return nil
    }

    private mutating func take(
        _ position: Int,
        _ index: Int,
        _ length: Int,
        now: NIODeadline,
        _ effects: inout [Effect]
    ) -> Episode.Match {
        let match = self.episodes[index].consume(position, isProven: true, now: now)
        self.running[match.job] = nil
        if length >= GatewayBounds.crashRow, position == self.episodes[index].count - 1 {
            self.finish(index, isJudged: true, &effects)
        } else {
            self.episodes[index].planTrim(now: now)
            self.conclude(index, now: now, &effects)
        }
        return match
    }

    /// Forgets a follower whose copy was forwarded as a job of its own. A rejection of the follower is deferred.
    private mutating func forget(_ position: Int, _ index: Int, _ effects: inout [Effect]) {
        if let entry = self.episodes[index].forget(position) { self.drop([entry], &effects) }
    }
}
