internal import FerryCore
internal import NIOCore

/// The filter that swallows the copies of one client after an error response. Without the filter, APNs would get these
/// notifications twice.
///
/// One filter serves one scope: the connections of one identity from one source address. An error response opens an
/// ``Episode`` with the followers of the notification that it names. The connection on which the error response was
/// written is called *the connection that was told*. A later notification with the key of a follower is a copy: it
/// joins the follower's job, and consumes the follower's entry. Copies may overtake: while a connection drains,
/// notifications that are forwarded from the client's other connections are remembered. A drained notification with
/// an equal key joins the job of the remembered one.
///
/// A job has at most one entry. A copy that is itself a follower takes the entry over into the new episode.
///
/// In doubt a copy is forwarded, because two deliveries are better than a loss. Cost of a notification: one table
/// look-up for each open episode.
///
/// ``admit(_:from:now:effects:)`` judges every notification that has a key. It looks for a copy on the connection
/// that was told (`ReplayFilter+Own.swift`), then for a copy on another connection (`+OtherConnections`), then for a
/// copy after a crash (`+Crash`).
struct ReplayFilter: Sendable {
    /// The connection on which a notification was read, and its state at that time.
    struct Origin: Hashable, Sendable {
        var connection: ConnectionID
        /// The episode of the connection's error response, also after the drain; nil before an error response.
        var draining: EpisodeID?
        /// Whether the error response of that episode was written so long ago that the client may have read it. Also
        /// true before an error response.
        var mayHaveHeard = true
        /// Whether the connection is new (no error response, and fewer than ``GatewayBounds/crashMisses`` new
        /// notifications), so that the notification may continue a connection that a crash ended.
        var isOpening = false
        /// When the connection was opened.
        var openedAt = NIODeadline.distantPast
        /// Whether the frame begins with the identifier. Of the known libraries, only Pushy writes such frames. Pushy
        /// also circles; see ``Admission/circle``.
        var resemblesPushy = false
    }

    /// The owner's next step with a notification.
    enum Admission: Hashable, Sendable {
        /// Forward it as the offered job.
        case forward
        /// Swallow it, because it is a copy of this job's notification. If the job is running, its result counts for
        /// both.
        case join(JobID, JobFate)
        /// Swallow it, and close the output. The client sends the notification again and again on the connection that
        /// was told until the client sees the end, and once more on another connection.
        case circle
        /// Swallow it, because its copy came first. The copy is this job's notification, and gets the result.
        case overtaken(JobID)
    }

    /// A notification that may be a copy. Its original may still come on another connection, which drains.
    struct Overtaker: Sendable {
        var connection: ConnectionID
        var job: JobID
    }

    struct Place: Sendable {
        var episode: EpisodeID
        var position: Int
    }

    /// The recent notifications of one connection.
    struct Row: Sendable {
        /// The number of new notifications since the last copy. Notifications that may be copies of others in a drain
        /// do not count.
        var newCount = 0
        /// The follower that the last notification equalled, if that match was doubted.
        var doubted: Place?
    }

    var replayClass: ReplayClass
    /// Whether the class was configured, so that evidence does not change it.
    private(set) var isConfigured: Bool
    /// When evidence last changed the class, in UNIX seconds; 0 if it never did. The owner sets and stores this time.
    var classShownAt: UInt32 = 0
    /// The number of misses in a row. Episodes that prove nothing do not end the row.
    var misses = 0
    private(set) var habits = SendingHabits()
    /// The present day, in days since 1970. The owner keeps it up to date.
    var today: UInt16 = 1
    private var amplification = Amplification()
    var clock = FilterClock()

    /// The open episodes, with the oldest first.
    var episodes: [Episode] = []
    var overtakers = ReplayLog<Overtaker>()
    /// The rows of open connections.
    var rows: [ConnectionID: Row] = [:]
    /// The rows of copies that may continue a connection that a crash ended.
    var crashRows: [ConnectionID: [CrashRow]] = [:]
    /// The number of open episodes that began with a crash.
    var crashCount = 0
    /// The entries of running jobs.
    var running: [JobID: Place] = [:]
    /// The clock's reading at which the next episode may end or the next entry may be dropped; nil if neither is
    /// planned.
    var wakeAt: NIODeadline?

    /// The number of all entries, with those that are consumed, and of all remembered notifications.
    var entryCount = 0
    /// The number of episodes that ended early to make room.
    private(set) var evictedCount = 0

    /// - Parameters:
    ///   - replayClass: the class that the store or the configuration names.
    ///   - isConfigured: whether the configuration names the class, so that evidence does not change it.
    init(_ replayClass: ReplayClass = .unknown, isConfigured: Bool = false) {
        self.replayClass = replayClass
        self.isConfigured = isConfigured
    }

    // MARK: The client

    /// The facts about a client that decide about an error response.
    struct Standing: Hashable, Sendable {
        var replayClass = ReplayClass.unknown
        /// Whether the client gives the notifications of a connection different identifiers.
        var numbering = Numbering.unknown
        /// Whether the client opens a connection for each notification.
        var isSingle = false
        /// Whether the client may still turn out to be single, because no trait of the client is known.
        var mayBeSingle = false
        /// Whether too much of the traffic is copies.
        var isAmplified = false

        init() {}

        /// Whether an error response may be useful, now or later. It is useless if the client never repeats
        /// followers, or gives all notifications of a connection the same identifier.
        var mayHear: Bool { self.replayClass != .never && self.numbering != .none }

        enum Numbering: Hashable, Sendable {
            case unknown
            /// A connection had one identifier twice, and no connection had two different identifiers.
            case none
            /// A connection had one identifier twice, and the same or another connection had two different
            /// identifiers.
            case some
            case all
        }
    }

    func standing(now: NIODeadline) -> Standing {
        var standing = Standing()
        standing.replayClass = self.replayClass
        if self.habits.has(.numbers, on: self.today) {
            standing.numbering = self.habits.has(.repeatsIdentifiers, on: self.today) ? .some : .all
        } else if self.habits.has(.repeatsIdentifiers, on: self.today) {
            standing.numbering = .none
        }
        standing.isSingle = self.habits.isSingle(on: self.today)
        standing.mayBeSingle = self.habits.mayBeSingle(on: self.today)
        standing.isAmplified = self.amplification.isExcessive(now: now)
        return standing
    }

    /// Notes the traits of the client that a connection shows.
    mutating func note(_ connection: borrowing GatewayConnection) {
        if connection.numbersPushes { self.habits.saw(.numbers, on: self.today) }
        if connection.repeatsIdentifiers { self.habits.saw(.repeatsIdentifiers, on: self.today) }
        switch connection.single {
        case .unknown: break
        case .ended: self.habits.saw(.endsSingles, on: self.today)
        case .kept: self.habits.saw(.keepsSingles, on: self.today)
        }
    }

    /// Takes the habits and the class that an earlier process knew. A configured class stays.
    mutating func restore(_ habits: SendingHabits, _ replayClass: ReplayClass, shownAt: UInt32) {
        self.habits = habits
        guard !self.isConfigured else { return }
        self.replayClass = replayClass
        self.classShownAt = shownAt
    }

    /// Sets whether the client repeats followers after an error response, as a reload configures it. Open episodes go
    /// on, because their error responses were written.
    ///
    /// - Parameter resends: nil if the gateway must find out. The present class then holds until evidence changes it.
    ///   Evidence does not change ``ReplayClass/never``.
    mutating func configure(resends: Bool?) {
        self.isConfigured = resends != nil
        switch (resends, self.replayClass) {
        case (.none, _), (.some(true), .resends): break
        case (.some(true), _): self.replayClass = .resends(Reach())
        case (.some(false), _): self.replayClass = .never
        }
        self.misses = 0
    }

    // MARK: Episodes

    /// Opens an episode: for an error response in the turn in which it is written, for a kill of the process at
    /// recovery. Does nothing if the class is ``ReplayClass/never``.
    ///
    /// - Parameters:
    ///   - named: the key of the notification that the error response names.
    ///   - namedJob: the job of that notification. If the episode ends and no follower came again, the rejection is
    ///     deferred.
    ///   - roundTrip: the round trip of the connection that was told.
    ///   - followers: the notifications that were read after the named one, in order. After a crash, the last ones that
    ///     were read.
    mutating func open(
        _ id: EpisodeID,
        _ kind: EpisodeKind,
        named: ReplayKey? = nil,
        namedJob: JobID? = nil,
        roundTrip: TimeAmount = .zero,
        followers: [Follower],
        now: NIODeadline,
        effects: inout [Effect]
    ) {
        guard self.replayClass != .never else { return }
        if self.episodes.count >= GatewayBounds.episodesPerScope { self.evictEpisode(&effects) }
        self.episodes.append(
            Episode(
                id,
                kind,
                named: named,
                namedJob: namedJob,
                roundTrip: roundTrip,
                overtakersFrom: self.overtakers.count,
                openedAt: now,
                now: self.clock.reading(now)
            )
        )
        if kind == .crash { self.crashCount += 1 }
        for follower in followers { self.append(follower, to: self.episodes.count - 1) }
        if kind.isPast { self.drained(id, now: now, effects: &effects) }
    }

    /// Notes that the episode's drain is over. Later notifications of a deaf connection still become followers.
    mutating func drained(_ id: EpisodeID, now: NIODeadline, effects: inout [Effect]) {
        guard let index = self.index(of: id) else { return }
        let time = self.clock.reading(now)
        self.episodes[index].drained(now: time)
        self.forgetOvertakers()
        self.conclude(index, now: time, &effects)
    }

    /// Notes whether the gateway reads a connection. A full window stops the reading.
    mutating func reads(_ connection: ConnectionID, _ isRead: Bool, now: NIODeadline) {
        self.clock.note(connection, isRead: isRead, now: now)
    }

    /// Notes that a connection is closed.
    mutating func closed(_ connection: ConnectionID, now: NIODeadline, effects: inout [Effect]) {
        self.rows[connection] = nil
        self.crashRows[connection] = nil
        self.clock.note(connection, isRead: true, now: now)
        guard let index = self.episodes.lastIndex(where: { $0.id.connection == connection }) else { return }
        self.episodes[index].closed()
        self.conclude(index, now: self.clock.reading(now), &effects)
    }

    /// Ends an episode to make room: one whose copies have all come, otherwise the oldest. Later copies of its
    /// followers are forwarded, so devices get these notifications twice.
    mutating func evictEpisode(_ effects: inout [Effect]) {
        guard !self.episodes.isEmpty else { return }
        self.finish(self.episodes.firstIndex(where: \.isConsumed) ?? 0, isJudged: false, &effects)
        self.forgetOvertakers()
        self.evictedCount += 1
    }

    /// When the oldest episode was opened; nil without one.
    var oldestEpisode: NIODeadline? { self.episodes.first?.openedAt }

    private mutating func append(_ follower: Follower, to index: Int) {
        let position = self.episodes[index].append(follower)
        self.entryCount += 1
        if follower.fate == .running {
            self.running[follower.job] = Place(episode: self.episodes[index].id, position: position)
        }
    }

    func index(of id: EpisodeID) -> Int? { self.episodes.lastIndex { $0.id == id } }

    // MARK: Notifications

    /// Decides whether one notification is a copy, and notes the notification. Every notification that is read passes
    /// here, except faulty ones, which have no key.
    ///
    /// - Parameter offered: the notification, with the job under which the owner would forward it. The job's fate is
    ///   `running`, or `rejected` if the owner refuses the notification itself.
    mutating func admit(
        _ offered: Follower,
        from origin: Origin,
        now: NIODeadline,
        effects: inout [Effect]
    ) -> Admission {
        self.timePassed(now: now, effects: &effects)
        let time = self.clock.reading(now)
        var follower = offered
        var isAhead = false
        if let copy = self.admitOwn(offered, origin, now: time, &effects) {
            self.noteSwallowed(origin, now: now)
            return copy
        }
        if let (match, hasOvertaken) = self.match(offered, origin, now: time, &effects) {
            if match.isEvidenceOnly {
                self.amplification.count(swallowed: 1, now: now)
            } else {
                follower.job = match.job
                follower.fate = match.fate
                isAhead = hasOvertaken
                self.forgetOvertaker(offered.key, of: match.job, origin)
            }
        } else if let copy = self.continues(offered, origin, now: time, &effects) {
            follower.job = copy.job
            follower.fate = copy.fate
        }
        if let draining = origin.draining, let index = self.index(of: draining) {
            if follower.job == offered.job, let overtaker = self.takeOvertaker(offered.key, origin, index) {
                follower.job = overtaker
                self.episodes[index].appendMatched(follower)
                self.entryCount += 1
                if self.isAhead(origin, of: index) { self.remember(follower, origin) }
                self.noteSwallowed(origin, now: now)
                return .overtaken(overtaker)
            }
            self.append(follower, to: index)
        }
        guard follower.job == offered.job else {
            if isAhead { self.remember(follower, origin) }
            self.noteSwallowed(origin, now: now)
            return .join(follower.job, follower.fate)
        }
        let mayBeCopy = self.remember(offered, origin)
        if !mayBeCopy { self.rows[origin.connection, default: Row()].newCount += 1 }
        self.amplification.count(new: 1, now: now)
        return .forward
    }

    /// Notes that a copy was swallowed.
    private mutating func noteSwallowed(_ origin: Origin, now: NIODeadline) {
        self.rows[origin.connection] = nil
        self.amplification.count(swallowed: 1, now: now)
        let time = self.clock.reading(now)
        for index in self.episodes.indices { self.episodes[index].putOffTrim(now: time) }
    }

    /// Notes the result of a job, for copies that come later. Returns false if no entry of the job waits for a copy.
    /// Then no copy will tell the job's rejection.
    @discardableResult
    mutating func settled(_ job: JobID, _ fate: JobFate) -> Bool {
        guard let place = self.running.removeValue(forKey: job) else { return false }
        guard let index = self.index(of: place.episode) else {
            assertionFailure("an episode takes its entries with it")
            return false
        }
        self.episodes[index].settle(place.position, fate)
        return true
    }
}
