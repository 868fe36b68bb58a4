package import FerryCore
package import NIOCore

/// The filter that swallows what one client sends again after an error response, so that APNs gets it once.
///
/// One filter serves one scope: the connections of one identity from one source address. An error response opens an
/// ``Episode`` with the followers of the notification that it names. A later notification with an equal key is a copy:
/// it joins the job of the follower, and consumes the entry. Copies may overtake: while a connection drains,
/// notifications that were forwarded on the client's other connections are remembered, and a drained notification
/// with an equal key joins those.
///
/// Each job has one entry at most. A copy that is itself a follower takes the entry over into the new episode.
///
/// In doubt a copy is forwarded: a double, never a loss. Cost: one table look-up for each open episode.
package struct ReplayFilter: Sendable {
    /// The place where a notification was read.
    package struct Origin: Hashable, Sendable {
        package var connection: ConnectionID
        /// The episode whose drain the notification was read in.
        package var draining: EpisodeID?
        /// Whether the error response of that episode was written so long ago that the client may have read it.
        package var mayHaveHeard: Bool
        /// The connection is new, so that the notification may continue one that a crash ended.
        package var isOpening: Bool
        /// When the connection was opened.
        package var openedAt: NIODeadline
        /// Its frame begins with the identifier, as only those of Pushy do among the known libraries. Pushy circles.
        package var resemblesPushy: Bool

        package init(
            connection: ConnectionID,
            draining: EpisodeID? = nil,
            mayHaveHeard: Bool = true,
            isOpening: Bool = false,
            openedAt: NIODeadline = .distantPast,
            resemblesPushy: Bool = false
        ) {
            self.connection = connection
            self.draining = draining
            self.mayHaveHeard = mayHaveHeard
            self.isOpening = isOpening
            self.openedAt = openedAt
            self.resemblesPushy = resemblesPushy
        }
    }

    /// What the owner does with a notification.
    package enum Admission: Hashable, Sendable {
        /// Forward it as the job that was offered.
        case forward
        /// Swallow it: it is a copy of this job's notification. A running job will settle both.
        case join(JobID, JobFate)
        /// Swallow it: the client sends it on the connection that was told, again and again until it sees the end, and once
        /// more elsewhere. Close the output.
        case circle
        /// Swallow it: its copy came first, is this job's notification, and gets the verdict.
        case overtaken(JobID)
    }

    /// A rejection that no error response has told, and no copy will.
    package struct Untold: Hashable, Sendable {
        package var job: JobID
        package var status: BinaryStatus
    }

    /// An episode that is over.
    package struct Ended: Hashable, Sendable {
        package var episode: EpisodeID
        /// The client had followers to send again and sent none. So nothing shows that it read the error response.
        package var isUnheard: Bool
    }

    /// A forwarded notification that may be the copy of one that still drains.
    private struct Overtaker: Sendable {
        var connection: ConnectionID
        var job: JobID
    }

    private struct Place: Sendable {
        var episode: EpisodeID
        var position: Int
    }

    /// What one connection has carried lately.
    private struct Row: Sendable {
        /// The new notifications since the last copy. Those that may be copies of what still drains do not count.
        var newCount = 0
        /// The follower that the last notification equalled, when that was doubted.
        var doubted: Place?
    }

    package private(set) var replayClass: ReplayClass
    /// Whether the class was configured, so that no evidence changes it.
    private let isConfigured: Bool
    /// The episodes in a row whose followers did not come back.
    private var misses = 0
    /// Whether the client was seen to give its notifications different identifiers.
    private var numbersPushes = false
    private var amplification = Amplification()

    /// Oldest first.
    private var episodes: [Episode] = []
    private var overtakers = ReplayLog<Overtaker>()
    /// Open connections only.
    private var rows: [ConnectionID: Row] = [:]
    /// The entries of running jobs.
    private var running: [JobID: Place] = [:]
    /// A time before which no episode ends and no entry is dropped; nil: nothing will.
    private var wakeAt: NIODeadline?

    /// All entries of episodes, and all remembered notifications.
    package private(set) var entryCount = 0
    /// The episodes that ended early to make room.
    package private(set) var evictedCount = 0

    private var untold: [Untold] = []
    private var ended: [Ended] = []

    /// - Parameters:
    ///   - replayClass: what the store or the configuration says.
    ///   - isConfigured: whether it is the configuration, which evidence does not change.
    package init(_ replayClass: ReplayClass = .unknown, isConfigured: Bool = false) {
        self.replayClass = replayClass
        self.isConfigured = isConfigured
    }

    // MARK: The client

    /// What is known of a client when an error response is considered.
    package struct Standing: Hashable, Sendable {
        package var replayClass = ReplayClass.unknown
        package var numbersPushes = false
        /// Too much of the traffic is copies.
        package var isAmplified = false

        package init() {}
    }

    package func standing(now: NIODeadline) -> Standing {
        var standing = Standing()
        standing.replayClass = self.replayClass
        standing.numbersPushes = self.numbersPushes
        standing.isAmplified = self.amplification.isExcessive(now: now)
        return standing
    }

    /// Notes that one connection carried two different identifiers.
    package mutating func sawNumbering() { self.numbersPushes = true }

    // MARK: Episodes

    /// Opens an episode: for an error response in the turn in which it is written, for a crash at the recovery.
    ///
    /// - Parameters:
    ///   - named: the key of the notification that the error response names.
    ///   - followers: the notifications that were read after the one that is named, in order; after a crash, the last ones
    ///     that were read.
    package mutating func open(
        _ id: EpisodeID,
        _ kind: EpisodeKind,
        named: ReplayKey? = nil,
        followers: [Follower],
        now: NIODeadline
    ) {
        guard self.replayClass != .never else { return }
        if self.episodes.count >= GatewayBounds.episodesPerScope { self.evictEpisode(now: now) }
        self.episodes.append(
            Episode(id, kind, named: named, overtakersFrom: self.overtakers.count, now: now)
        )
        for follower in followers { self.append(follower, to: self.episodes.count - 1) }
        if kind.isPast { self.drained(id, now: now) }
    }

    /// Notes that nothing more of the connection will belong to the episode.
    package mutating func drained(_ id: EpisodeID, now: NIODeadline) {
        guard let index = self.index(of: id) else { return }
        self.episodes[index].drained(now: now)
        self.forgetOvertakers()
        self.conclude(index, now: now)
    }

    /// Notes that a connection is gone.
    package mutating func closed(_ connection: ConnectionID) { self.rows[connection] = nil }

    /// Ends the oldest episode, to make room, or one whose copies have all come. The copies of the oldest will be doubles.
    package mutating func evictEpisode(now: NIODeadline) {
        guard !self.episodes.isEmpty else { return }
        self.finish(self.episodes.firstIndex(where: \.isConsumed) ?? 0, isJudged: false, now: now)
        self.forgetOvertakers()
        self.evictedCount += 1
    }

    /// When the oldest episode was opened; nil without one.
    package var oldestEpisode: NIODeadline? { self.episodes.first?.openedAt }

    private mutating func append(_ follower: Follower, to index: Int) {
        let position = self.episodes[index].append(follower)
        self.entryCount += 1
        if follower.fate == .running {
            self.running[follower.job] = Place(episode: self.episodes[index].id, position: position)
        }
    }

    private func index(of id: EpisodeID) -> Int? { self.episodes.lastIndex { $0.id == id } }

    // MARK: Notifications

    /// Judges one notification.
    ///
    /// - Parameter offered: the notification, with the job under which the owner would forward it, and that job's fate:
    ///   running, or rejected if the owner knows the token to be bad.
    package mutating func admit(_ offered: Follower, from origin: Origin, now: NIODeadline) -> Admission {
        self.timePassed(now: now)
        var follower = offered
        var isAhead = false
        if let copy = self.admitOwn(offered, origin, now: now) {
            self.rows[origin.connection] = nil
            self.amplification.count(swallowed: 1, now: now)
            return copy
        }
        if let (match, hasOvertaken) = self.match(offered, origin, now: now) {
            follower.job = match.job
            follower.fate = match.fate
            isAhead = hasOvertaken
            self.forgetOvertaker(offered.key, of: match.job, origin)
        }
        if let draining = origin.draining, let index = self.index(of: draining) {
            if follower.job == offered.job, let overtaker = self.takeOvertaker(offered.key, origin, index) {
                follower.job = overtaker
                self.episodes[index].appendMatched(follower)
                self.entryCount += 1
                if self.isAhead(origin, of: index) { self.remember(follower, origin) }
                self.rows[origin.connection] = nil
                self.amplification.count(swallowed: 1, now: now)
                return .overtaken(overtaker)
            }
            self.append(follower, to: index)
        }
        guard follower.job == offered.job else {
            if isAhead { self.remember(follower, origin) }
            self.rows[origin.connection] = nil
            self.amplification.count(swallowed: 1, now: now)
            return .join(follower.job, follower.fate)
        }
        let mayBeCopy = self.remember(offered, origin)
        if !mayBeCopy { self.rows[origin.connection, default: Row()].newCount += 1 }
        self.amplification.count(new: 1, now: now)
        return .forward
    }

    /// Notes the result of a job, for the copies that will come. Returns false if no open episode has the job: then no
    /// copy will tell its rejection.
    @discardableResult
    package mutating func settled(_ job: JobID, _ fate: JobFate) -> Bool {
        guard let place = self.running.removeValue(forKey: job), let index = self.index(of: place.episode) else {
            return false
        }
        self.episodes[index].settle(place.position, fate)
        return true
    }

    /// Consumes the follower whose copy this is, of the newest episode that has one. Also returns whether the copy may
    /// be ahead of one that still drains: then that one has lost its entry.
    private mutating func match(_ offered: Follower, _ origin: Origin, now: NIODeadline) -> (Episode.Match, Bool)? {
        guard !self.episodes.isEmpty else { return nil }
        let isProven = if case .resends = self.replayClass { true } else { false }
        let row = self.rows[origin.connection] ?? Row()
        self.rows[origin.connection]?.doubted = nil
        for index in self.episodes.indices.reversed() {
            guard self.episodes[index].id.connection != origin.connection,
                self.episodes[index].kind != .crash || origin.isOpening
            else { continue }
            // A client that circles sends what it has written last behind new notifications.
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
                // It was the first of a row, and so a copy, too.
                self.episodes[index].confirm(before.position)
            }
            let isAhead = self.isAhead(origin, of: index)
            self.episodes[index].planTrim(at: now + GatewayBounds.trimDelay)
            self.conclude(index, now: now)
            self.running[match.job] = nil
            guard match.isEvidenceOnly else { return (match, isAhead) }
            // It goes out as a notification of its own, so that no copy tells the follower's rejection.
            self.drop([(match.job, match.fate)])
            self.amplification.count(swallowed: 1, now: now)
            return nil
        }
        return nil
    }

    /// Judges a notification that may be the copy of a follower of the connection that it came on. Clients that have not
    /// seen the end of a connection that was told write there.
    private mutating func admitOwn(_ offered: Follower, _ origin: Origin, now: NIODeadline) -> Admission? {
        guard let draining = origin.draining, let identifier = offered.identifier,
            let index = self.index(of: draining)
        else { return nil }
        if let match = self.matchOwn(offered, identifier, index, now: now) { return .join(match.job, match.fate) }
        return self.isCircle(offered, origin, index) ? .circle : nil
    }

    /// Whether the client circles, and sends this notification again elsewhere. If several of its connections were told, a
    /// circle may lead through all of them.
    private mutating func isCircle(_ offered: Follower, _ origin: Origin, _ index: Int) -> Bool {
        let isProven = if case .resends = self.replayClass { true } else { false }
        let row = self.rowOfCircle(origin, index, isProven: isProven)
        if self.episodes[index].circled(offered, row: row, isProven: isProven) { return true }
        // A follower of another connection.
        guard self.episodes[index].isCircling, self.episodes[index].mayCircle else { return false }
        return self.episodes.contains { $0.isCircling && $0.had(offered.key) }
    }

    /// How many of the first followers have to come again in a row before they count as a circle; nil: any one is enough.
    private func rowOfCircle(_ origin: Origin, _ index: Int, isProven: Bool) -> Int? {
        // Pushy sends again what it wrote before it read the error response, too.
        if origin.resemblesPushy {
            return isProven || self.episodes.contains { $0.isCircling || $0.hasCopiesElsewhere } ? nil : 1
        }
        guard origin.mayHaveHeard else { return .max }
        // A client that sends copies elsewhere needs what it still writes here there, too.
        if self.episodes[index].hasCopiesElsewhere || self.episodes.contains(where: \.isCircling) { return nil }
        return self.episodes[index].isNamed ? GatewayBounds.circle : .max
    }

    /// Consumes the follower with the same identifier: this is its copy, and no other comes. Only the identifier tells it from
    /// a repeat: clients that number their notifications give a repeat a new one.
    private mutating func matchOwn(
        _ offered: Follower,
        _ identifier: UInt32,
        _ index: Int,
        now: NIODeadline
    ) -> Episode.Match? {
        guard self.episodes[index].isDraining else { return nil }
        let match = self.episodes[index].match(
            offered.key,
            identifier: identifier,
            isProven: true,
            isDoubted: false,
            now: now
        )
        guard let match else { return nil }
        // One connection tells one rejection, and has told it: no copy tells the follower's.
        self.drop([(match.job, match.fate)])
        self.episodes[index].planTrim(at: now + GatewayBounds.trimDelay)
        return match
    }

    /// Whether so many others came before on its connection that a single notification that equals a follower is rather a
    /// repeat on purpose. Copies come in a row. On a connection that was open at the error response, they come behind
    /// what the client had written before it read the response.
    private func isLate(_ row: Row, _ origin: Origin, for index: Int, now: NIODeadline) -> Bool {
        guard row.newCount >= GatewayBounds.doubtAfter else { return false }
        let episode = self.episodes[index]
        return origin.openedAt > episode.openedAt || now - episode.lastMatch >= GatewayBounds.doubtDelay
    }

    // MARK: Copies that overtake

    /// Whether a notification that belongs to this episode, or is a copy of one of its followers, came before copies that a
    /// later episode still drains: one of those has to find it.
    private func isAhead(_ origin: Origin, of index: Int) -> Bool {
        self.episodes[(index + 1)...].contains { $0.isDraining && $0.id.connection != origin.connection }
    }

    /// Remembers a notification while another connection drains. Returns whether one does. Constants prove too little to be
    /// remembered.
    @discardableResult
    private mutating func remember(_ offered: Follower, _ origin: Origin) -> Bool {
        guard self.episodes.contains(where: { $0.isDraining && $0.id.connection != origin.connection }) else {
            return false
        }
        guard !offered.isConstant else { return true }
        self.overtakers.append(offered.key, Overtaker(connection: origin.connection, job: offered.job))
        self.entryCount += 1
        return true
    }

    private mutating func takeOvertaker(_ key: ReplayKey, _ origin: Origin, _ index: Int) -> JobID? {
        let start = self.episodes[index].overtakersFrom
        let position = self.overtakers.first(key) { $0 >= start && $1.connection != origin.connection }
        guard let position else { return nil }
        self.overtakers.remove(position)
        return self.overtakers[position].job
    }

    /// Forgets the copy of a drained notification that was found by its entry: no other one has this copy.
    private mutating func forgetOvertaker(_ key: ReplayKey, of job: JobID, _ origin: Origin) {
        guard let draining = origin.draining, let index = self.index(of: draining) else { return }
        let start = self.episodes[index].overtakersFrom
        let position = self.overtakers.first(key) {
            $0 >= start && $1.job == job && $1.connection != origin.connection
        }
        if let position { self.overtakers.remove(position) }
    }

    /// Forgets all of them when no connection drains.
    private mutating func forgetOvertakers() {
        guard self.overtakers.count > 0, !self.episodes.contains(where: \.isDraining) else { return }
        self.entryCount -= self.overtakers.count
        self.overtakers = ReplayLog()
    }

    // MARK: The end of episodes

    /// When to call ``timePassed(now:)``; nil: no need.
    package var nextDeadline: NIODeadline? { self.wakeAt }

    /// Ends the episodes whose time has come. An early call does no harm.
    package mutating func timePassed(now: NIODeadline) {
        guard let wakeAt, wakeAt <= now else { return }
        self.wakeAt = nil
        var index = 0
        while index < self.episodes.count {
            self.drop(self.episodes[index].trim(now: now))
            let end = self.episodes[index].end(unmatchedLifetime: self.unmatchedLifetime)
            if let end, end <= now || self.episodes[index].isComplete {
                self.finish(index, isJudged: true, now: now)
            } else {
                self.schedule(index)
                index += 1
            }
        }
    }

    private var unmatchedLifetime: TimeAmount {
        if case .resends = self.replayClass { GatewayBounds.provenLifetime } else { GatewayBounds.unmatchedLifetime }
    }

    private mutating func schedule(_ index: Int) {
        guard let next = self.episodes[index].nextDeadline(unmatchedLifetime: self.unmatchedLifetime) else { return }
        self.wakeAt = self.wakeAt.map { min($0, next) } ?? next
    }

    /// Draws the conclusions after a change of an episode.
    private mutating func conclude(_ index: Int, now: NIODeadline) {
        guard !self.episodes[index].isComplete else {
            self.finish(index, isJudged: true, now: now)
            return
        }
        // The last followers of a drain may still be on their way.
        if let matchCount = self.episodes[index].proves() {
            self.prove { $0.proven = max($0.proven, matchCount) }
        }
        self.schedule(index)
    }

    private mutating func finish(_ index: Int, isJudged: Bool, now: NIODeadline) {
        let episode = self.episodes.remove(at: index)
        if self.episodes.isEmpty { for connection in self.rows.keys { self.rows[connection]?.doubted = nil } }
        self.entryCount -= episode.count
        self.drop(episode.unmatched)
        self.ended.append(
            Ended(episode: episode.id, isUnheard: isJudged && episode.evidence == .miss && episode.matchCount == 0)
        )
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
            while !self.episodes.isEmpty { self.finish(0, isJudged: false, now: now) }
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

    private mutating func drop(_ entries: [(job: JobID, fate: JobFate)]) {
        for entry in entries {
            self.running[entry.job] = nil
            if case .rejected(let status) = entry.fate { self.untold.append(Untold(job: entry.job, status: status)) }
        }
    }

    /// Removes and returns the rejections that no copy told before their episode ended. Defer them.
    package mutating func takeUntold() -> [Untold] {
        defer { self.untold = [] }
        return self.untold
    }

    /// Removes and returns the episodes that have ended. If one is unheard, defer the rejection that it named.
    package mutating func takeEnded() -> [Ended] {
        defer { self.ended = [] }
        return self.ended
    }
}
