internal import FerryCore
internal import NIOCore

/// The name of an episode: the connection that got the error response, and the sequence number of the notification
/// that the response names. The episode of a crash has the connection that ended, and a number that no notification
/// has.
struct EpisodeID: Hashable, Sendable {
    var connection: ConnectionID
    var sequence: UInt64
}

/// A notification that a client may repeat: one after the named notification, or one of the last before a crash.
struct Follower: Hashable, Sendable {
    var key: ReplayKey
    var job: JobID
    var fate: JobFate
    /// Whether the payload is constant, so that equal keys prove little; see ``PayloadNature/isConstant``.
    var isConstant: Bool
    /// The identifier; nil if the notification has none, or comes from the journal, which keeps no identifiers.
    var identifier: UInt32?
}

/// The event that began an episode.
enum EpisodeKind: Hashable, Sendable {
    /// An error response that names a refused notification.
    case rejection
    /// Status 10. Clients react differently to it, so the episode proves nothing about the client.
    case shutdown
    /// The gateway's process was killed. No error response was written, so the episode proves nothing about the
    /// client.
    case crash
    /// The episode was open when the gateway's process was killed. The client may not have read the error response,
    /// so the episode proves nothing about the client.
    case restored

    /// Whether the connection has ended when the episode is opened.
    var isPast: Bool { self == .crash || self == .restored }
}

/// The notifications that one client may repeat because of one event; see ``EpisodeKind``.
///
/// ```
///   ┌──────────┐ drained ┌──────┐ all matched; too long without a match
///   │ draining │────────▶│ open │──────────────────────────────────────▶ ended
///   └──────────┘         └──────┘
/// ```
///
/// In both states, copies are matched, and later notifications of the connection that was told become followers. That
/// connection may carry copies until it closes, for at most ``GatewayBounds/ownCopies``. In this time, the episode
/// may end for lack of matches, but not because all followers are matched.
///
/// All times are readings of the filter's ``FilterClock``, except ``openedAt``.
struct Episode: Sendable {
    struct Entry: Sendable {
        var job: JobID
        var fate: JobFate
        var isConstant: Bool
        var identifier: UInt32?
        var isMatched = false
        /// Whether an equal notification came that may be a deliberate repeat.
        var isDoubted = false

        init(_ follower: Follower, isMatched: Bool = false) {
            self.job = follower.job
            self.fate = follower.fate
            self.isConstant = follower.isConstant
            self.identifier = follower.identifier
            self.isMatched = isMatched
        }
    }

    private struct Trim: Sendable {
        var at: NIODeadline
        /// When the entries are removed although copies still come. Repeats on purpose may look like copies.
        let latest: NIODeadline
        /// The position of the first entry that stays.
        var before: Int
    }

    /// The evidence of an episode about its client.
    enum Evidence: Equatable {
        case nothing
        case resends
        case miss
    }

    let id: EpisodeID
    let kind: EpisodeKind
    /// When the episode was opened, by the machine's clock.
    let openedAt: NIODeadline
    private let beganAt: NIODeadline
    /// The round trip of the connection that was told. The client's next connection probably has the same.
    private let roundTrip: TimeAmount
    /// The key of the notification that the error response names. It is nil if that notification was faulty, for
    /// status 10, and for an episode of an earlier process.
    let named: ReplayKey?
    let namedJob: JobID?
    /// A position in the filter's list of overtakers. An overtaker from this position on may be the copy of a
    /// notification in this drain.
    let overtakersFrom: Int
    var log = ReplayLog<Entry>()
    private(set) var matchCount = 0
    /// The number of followers whose copies came on other connections, and were swallowed.
    private(set) var copyCount = 0
    private var hasProved = false
    private(set) var earliestMatch: Int?
    /// The highest matched positions in ascending order, at most ``GatewayBounds/matchesThatTrim``.
    private var highest: [Int] = []
    private var trim: Trim?
    private var trimmedTo = 0
    var writing = Writing.on(repeated: 0)
    /// The position of the follower that came again last after the drain, if a circle may begin with it; otherwise
    /// nil.
    var beginning: Int?
    private var isClosed: Bool
    private var drainedAt: NIODeadline?
    private var matchedAt: NIODeadline?

    init(
        _ id: EpisodeID,
        _ kind: EpisodeKind,
        named: ReplayKey?,
        namedJob: JobID?,
        roundTrip: TimeAmount,
        overtakersFrom: Int,
        openedAt: NIODeadline,
        now: NIODeadline
    ) {
        self.id = id
        self.kind = kind
        self.named = named
        self.namedJob = namedJob
        self.roundTrip = roundTrip
        self.overtakersFrom = overtakersFrom
        self.openedAt = openedAt
        self.beganAt = now
        self.isClosed = kind.isPast
    }

    var count: Int { self.log.count }
    var isDraining: Bool { self.drainedAt == nil }
    /// Whether the drain is over, and no follower waits for its copy.
    var isConsumed: Bool { !self.isDraining && self.log.liveCount == 0 }
    /// Whether the drain is over, no follower waits for its copy, and the connection that was told can carry no copy.
    /// False if the client was seen to circle.
    func isComplete(now: NIODeadline) -> Bool { self.isConsumed && !self.isCircling && !self.mayComeInPlace(now: now) }

    /// Whether the connection that was told may still carry copies.
    func mayComeInPlace(now: NIODeadline) -> Bool { !self.isClosed && now < self.ownEnd }

    private var ownEnd: NIODeadline { self.beganAt + GatewayBounds.ownCopies }

    /// Returns the position of the new entry.
    mutating func append(_ follower: Follower) -> Int {
        self.log.append(follower.key, Entry(follower))
    }

    /// Appends a follower whose copy came first.
    mutating func appendMatched(_ follower: Follower) {
        self.log.appendRemoved(follower.key, Entry(follower, isMatched: true))
        self.matchCount += 1
    }

    mutating func drained(now: NIODeadline) { self.drainedAt = self.drainedAt ?? now }

    /// Notes the end of the connection that was told.
    mutating func closed() { self.isClosed = true }

    mutating func settle(_ position: Int, _ fate: JobFate) { self.log[position].fate = fate }

    // MARK: Matching

    /// A copy, and the follower whose copy it is.
    struct Match {
        var position: Int
        var job: JobID
        var fate: JobFate
        /// Whether equal keys count as evidence only, and are not enough to swallow the copy.
        var isEvidenceOnly: Bool
    }

    /// The time of the last match. Before the first match, the end of the drain; in the drain, the episode's
    /// beginning.
    var lastMatch: NIODeadline { self.matchedAt ?? self.drainedAt ?? self.beganAt }

    /// Consumes the first follower with this key; nil if no follower has it. If the client is known to re-send, a
    /// follower with a constant payload counts only until ``GatewayBounds/matchedLifetime`` after the drain.
    ///
    /// - Parameter isDoubted: whether equal keys are not enough, because new notifications and no copies came just
    ///   before; see ``ReplayFilter/isLate(_:_:for:now:)``.
    mutating func match(_ key: ReplayKey, isProven: Bool, isDoubted: Bool, now: NIODeadline) -> Match? {
        let isLate = self.drainedAt.map { now - $0 > GatewayBounds.matchedLifetime } ?? false
        let position = self.log.first(key) { _, entry in !(entry.isConstant && isProven && isLate) }
        guard let position else { return nil }
        let match = self.consume(position, isProven: isProven, isDoubted: isDoubted, now: now)
        if !match.isEvidenceOnly { self.copyCount += 1 }
        return match
    }

    /// Consumes the follower at this place.
    mutating func consume(_ position: Int, isProven: Bool, isDoubted: Bool = false, now: NIODeadline) -> Match {
        self.log.remove(position)
        if isDoubted {
            self.log[position].isDoubted = true
        } else {
            self.matchedAt = now
            self.confirm(position)
        }
        let entry = self.log[position]
        let isEvidenceOnly = isDoubted || entry.isConstant && !isProven
        return Match(position: position, job: entry.job, fate: entry.fate, isEvidenceOnly: isEvidenceOnly)
    }

    /// Notes that the client sends followers of this episode again because of another episode's error response. The
    /// client sends them from the first on, so the copies of the later followers come late. Without an earlier match,
    /// the call has no effect.
    mutating func prolong(now: NIODeadline) {
        guard let drainedAt, self.matchedAt != nil, now - drainedAt < GatewayBounds.provenLifetime else { return }
        self.matchedAt = now
    }

    /// The last follower with this key that was not consumed.
    func newest(_ key: ReplayKey) -> Int? { self.log.last(key) }

    /// The first follower with this key, at most ``GatewayBounds/leftOut`` + 1 places after `position`.
    func next(_ key: ReplayKey, after position: Int) -> Int? {
        self.log.first(key) { place, _ in position < place && place <= position + GatewayBounds.leftOut + 1 }
    }

    /// Removes a follower that no copy will consume; nil if it was removed before.
    mutating func forget(_ position: Int) -> (job: JobID, fate: JobFate)? {
        guard self.log.isLive(position) else { return nil }
        self.log.remove(position)
        return (self.log[position].job, self.log[position].fate)
    }

    /// Whether any follower of this episode has this key. A follower that was removed counts, too.
    func had(_ key: ReplayKey) -> Bool { self.log.earliest(key) != nil }

    /// Counts a consumed follower as one whose copy came.
    mutating func confirm(_ position: Int) {
        self.log[position].isMatched = true
        self.matchCount += 1
        self.earliestMatch = min(self.earliestMatch ?? position, position)
        self.highest.append(position)
        self.highest.sort()
        if self.highest.count > GatewayBounds.matchesThatTrim { self.highest.removeFirst() }
    }

    /// The position before which no entry will come back, because the client's cache was too small; nil if there are
    /// not enough matches, or all entries before this position are trimmed already.
    private var trimPosition: Int? {
        guard self.highest.count == GatewayBounds.matchesThatTrim, let lowest = self.highest.first else { return nil }
        let position = lowest - GatewayBounds.trimDistance
        return position > self.trimmedTo ? position : nil
    }

    /// Plans the removal of entries that will not come back.
    mutating func planTrim(now: NIODeadline) {
        guard let before = self.trimPosition, before > self.trim?.before ?? 0 else { return }
        let latest = self.trim?.latest ?? now + GatewayBounds.matchedLifetime
        self.trim = Trim(at: Self.trimTime(now: now), latest: latest, before: before)
    }

    /// Puts the planned removal of entries off, because a copy came. Copies of these entries may still follow: Pushy
    /// sends last the followers that it wrote on the connection that was told, and then those that it could not write.
    mutating func putOffTrim(now: NIODeadline) {
        guard let latest = self.trim?.latest else { return }
        self.trim?.at = min(Self.trimTime(now: now), latest)
    }

    /// Returns the time of a removal, rounded up to a tenth of a second, so that a deadline changes seldom. A later
    /// time does no harm.
    private static func trimTime(now: NIODeadline) -> NIODeadline {
        let step: UInt64 = 100_000_000
        let time = now + GatewayBounds.trimDelay
        return .uptimeNanoseconds((time.uptimeNanoseconds / step + 1) * step)
    }

    /// Removes the entries whose time has come, and returns them.
    mutating func trimmed(now: NIODeadline) -> [(job: JobID, fate: JobFate)] {
        guard let trim, trim.at <= now else { return [] }
        self.trim = nil
        var dropped: [(job: JobID, fate: JobFate)] = []
        while self.trimmedTo < min(trim.before, self.log.count) {
            if self.log.isLive(self.trimmedTo) {
                self.log.remove(self.trimmedTo)
                dropped.append((self.log[self.trimmedTo].job, self.log[self.trimmedTo].fate))
            }
            self.trimmedTo += 1
        }
        return dropped
    }

    // MARK: The end

    /// When the episode ends without another match, or drops entries; nil if neither is planned.
    ///
    /// - Parameter unmatchedLifetime: how long the episode lives without a match.
    func nextDeadline(unmatchedLifetime: TimeAmount) -> NIODeadline? {
        guard let end = self.end(unmatchedLifetime: unmatchedLifetime) else { return self.trim?.at }
        let next = self.isConsumed && !self.isCircling && !self.isClosed ? min(end, self.ownEnd) : end
        return self.trim.map { min(next, $0.at) } ?? next
    }

    func end(unmatchedLifetime: TimeAmount) -> NIODeadline? {
        guard let drainedAt else { return nil }
        let matchedEnd = self.matchedAt.map { max($0, drainedAt) + GatewayBounds.matchedLifetime }
        if self.kind == .crash { return max(drainedAt + GatewayBounds.crashLifetime, matchedEnd ?? drainedAt) }
        if let matchedEnd { return matchedEnd }
        return drainedAt + unmatchedLifetime + .nanoseconds(GatewayBounds.reconnection * self.roundTrip.nanoseconds)
    }

    /// The followers that no copy has consumed, except those that were forgotten or trimmed.
    var unmatched: [(job: JobID, fate: JobFate)] {
        (0..<self.log.count).lazy.filter { self.log.isLive($0) }.map { (self.log[$0].job, self.log[$0].fate) }
    }

    /// Returns the number of matches when they first prove, after the drain, that the client re-sends; otherwise nil.
    mutating func proves() -> Int? {
        guard !self.isDraining, !self.hasProved, self.evidence == .resends else { return nil }
        self.hasProved = true
        return self.matchCount
    }

    /// Whether the client has possibly not read the rejection: the episode has followers, and none of them came
    /// again.
    var isUnheard: Bool { self.kind == .rejection && self.log.count > 0 && self.matchCount == 0 }

    var evidence: Evidence {
        guard self.kind == .rejection, self.log.count > 0 else { return .nothing }
        let recent = max(0, self.log.count - GatewayBounds.evidence)..<self.log.count
        let came = recent.count { self.log[$0].isMatched }
        if came > 0, came * 2 >= recent.count { return .resends }
        // A client that sends a single follower again late looks like one that repeats itself on purpose.
        let mayHaveCome = recent.count { self.log[$0].isMatched || self.log[$0].isDoubted }
        if mayHaveCome * 2 >= recent.count { return .nothing }
        return self.matchCount == 0 || self.log.count >= GatewayBounds.missFloor ? .miss : .nothing
    }
}
