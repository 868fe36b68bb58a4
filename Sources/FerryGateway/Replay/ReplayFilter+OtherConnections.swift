internal import FerryCore
internal import NIOCore

/// Copies on connections other than the one that was told, and copies that overtake. ``admit(_:from:now:effects:)``
/// looks for the copies on other connections after `ReplayFilter+Own.swift` and before `ReplayFilter+Crash.swift`,
/// and for overtakers last.
extension ReplayFilter {
    /// Consumes the follower whose copy this notification is, in the newest episode of another connection that has
    /// one; nil if none has. Episodes of crashes do not count. Also returns whether the copy may overtake; see
    /// ``isAhead(_:of:)``.
    mutating func match(
        _ offered: Follower,
        _ origin: Origin,
        now: NIODeadline,
        _ effects: inout [Effect]
    ) -> (Episode.Match, Bool)? {
        guard !self.episodes.isEmpty else { return nil }
        let isProven = if case .resends = self.replayClass { true } else { false }
        let row = self.rows[origin.connection] ?? Row()
        self.rows[origin.connection]?.doubted = nil
        for index in self.episodes.indices.reversed() {
            guard self.episodes[index].id.connection != origin.connection,
                self.episodes[index].kind != .crash
            else { continue }
            // A client that circles sends its last notifications after new ones.
            let circles =
                self.episodes[index].isCircling
                || self.episodes[index].kind == .restored && origin.resemblesPushy
            let isDoubted = row.doubted == nil && !circles && self.isLate(row, origin, for: index, now: now)
            let match = self.episodes[index].match(offered.key, isProven: isProven, isDoubted: isDoubted, now: now)
            guard let match else { continue }
            if isDoubted {
                self.rows[origin.connection]?.doubted = Place(
                    episode: self.episodes[index].id,
                    position: match.position
                )
            } else if let before = row.doubted, let index = self.index(of: before.episode) {
                // The notification before this one was the first of the row, so it was a copy, too.
                self.episodes[index].confirm(before.position)
            }
            let isAhead = self.isAhead(origin, of: index)
            self.episodes[index].planTrim(now: now)
            if !match.isEvidenceOnly { self.prolong(offered.key, besides: index, now: now) }
            self.conclude(index, now: now, &effects)
            self.running[match.job] = nil
            // The notification is forwarded as a job of its own, so it will not get the follower's result. A rejection
            // of the follower is therefore deferred.
            if match.isEvidenceOnly { self.drop([(match.job, match.fate)], &effects) }
            return (match, isAhead)
        }
        return nil
    }

    /// Extends the other episodes that had this follower. A client that reads several error responses sends the same
    /// first followers again and again, and reaches the last ones late.
    private mutating func prolong(_ key: ReplayKey, besides index: Int, now: NIODeadline) {
        for other in self.episodes.indices where other != index && self.episodes[other].had(key) {
            self.episodes[other].prolong(now: now)
        }
    }

    /// Whether so many new notifications came before that a single notification that equals a follower is probably a
    /// deliberate repeat. Copies come in a row. On a connection that was open at the error response, copies come
    /// after the notifications that the client had written before it read the response. So no copy counts as late
    /// there until ``GatewayBounds/doubtDelay`` after ``Episode/lastMatch``.
    func isLate(_ row: Row, _ origin: Origin, for index: Int, now: NIODeadline) -> Bool {
        guard row.newCount >= GatewayBounds.doubtAfter else { return false }
        let episode = self.episodes[index]
        return origin.openedAt > episode.openedAt || now - episode.lastMatch >= GatewayBounds.doubtDelay
    }

    // MARK: Copies that overtake

    /// Whether a later episode still drains on another connection. A copy in that drain must find this notification
    /// among the overtakers.
    func isAhead(_ origin: Origin, of index: Int) -> Bool {
        self.episodes[(index + 1)...].contains { $0.isDraining && $0.id.connection != origin.connection }
    }

    /// Remembers a notification while another connection drains. Returns whether another connection drains. Constant
    /// payloads prove too little to be remembered.
    @discardableResult
    mutating func remember(_ offered: Follower, _ origin: Origin) -> Bool {
        guard self.episodes.contains(where: { $0.isDraining && $0.id.connection != origin.connection }) else {
            return false
        }
        guard !offered.isConstant else { return true }
        self.overtakers.append(offered.key, Overtaker(connection: origin.connection, job: offered.job))
        self.entryCount += 1
        return true
    }

    mutating func takeOvertaker(_ key: ReplayKey, _ origin: Origin, _ index: Int) -> JobID? {
        let start = self.episodes[index].overtakersFrom
        let position = self.overtakers.first(key) { $0 >= start && $1.connection != origin.connection }
        guard let position else { return nil }
        self.overtakers.remove(position)
        return self.overtakers[position].job
    }

    /// Forgets the overtaker with this job. A notification in a drain has joined the job through an episode's entry,
    /// so the overtaker is the copy of no other notification.
    mutating func forgetOvertaker(_ key: ReplayKey, of job: JobID, _ origin: Origin) {
        guard let draining = origin.draining, let index = self.index(of: draining) else { return }
        let start = self.episodes[index].overtakersFrom
        let position = self.overtakers.first(key) {
            $0 >= start && $1.job == job && $1.connection != origin.connection
        }
        if let position { self.overtakers.remove(position) }
    }

    /// Forgets all overtaking copies when no connection drains.
    mutating func forgetOvertakers() {
        guard self.overtakers.count > 0, !self.episodes.contains(where: \.isDraining) else { return }
        self.entryCount -= self.overtakers.count
        self.overtakers = ReplayLog()
    }
}
