internal import FerryCore
internal import NIOCore

/// The name of an episode: the connection that was told, and the sequence number of the notification that was named.
struct EpisodeID: Hashable, Sendable {
    var connection: ConnectionID
    var sequence: UInt64
}

/// A notification that a client sent after the named one, and may repeat.
struct Follower: Hashable, Sendable {
    var key: ReplayKey
    var job: JobID
    var fate: JobFate
    /// Whether the payload is constant, so that equal keys prove little; see ``PayloadNature/isConstant``.
    var isConstant: Bool
    /// The identifier; nil for a notification without one, or if the filter has forgotten it.
    var identifier: UInt32?
}

/// The event that began an episode.
enum EpisodeKind: Hashable, Sendable {
    /// An error response that names a refused notification.
    case rejection
    /// Status 10. Clients react differently to it, so the episode proves nothing about the client.
    case shutdown
    /// The gateway's process was killed. It wrote no error response, so the episode proves nothing about the client.
    case crash
    /// The episode was open when the gateway's process was killed. The client may not have read the error response, so
    /// the episode proves nothing about it.
    case restored

    /// Whether the connection has ended when the episode is opened.
    var isPast: Bool { self == .crash || self == .restored }
}

/// Everything that one client may repeat because of one event: the followers of one notification.
///
/// ```
///   ┌──────────┐ drained ┌──────┐ all matched; too long without a match
///   │ draining │────────▶│ open │──────────────────────────────────────▶ ended
///   └──────────┘         └──────┘
/// ```
///
/// While the episode drains, followers are appended. In both states copies are matched. The connection that was told
/// carries copies until it closes, for at most ``GatewayBounds/ownCopies``. Until then the episode does not end, even
/// if all followers are matched.
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
    /// The key of the notification that the error response names; nil if it has no key, because it was faulty.
    let named: ReplayKey?
    let namedJob: JobID?
    /// The position in the filter's list of overtaking copies. Copies from this position on can belong to this drain.
    let overtakersFrom: Int
    var log = ReplayLog<Entry>()
    private(set) var matchCount = 0
    /// The number of followers that came again on other connections.
    private(set) var copyCount = 0
    private var hasProved = false
    private(set) var earliestMatch: Int?
    /// The highest matched positions in ascending order, at most ``GatewayBounds/matchesThatTrim``.
    private var highest: [Int] = []
    private var trim: Trim?
    private var trimmedTo = 0
    var writing = Writing.on(repeated: 0)
    /// The place of the last notification after the drain, if a circle may begin with it.
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
    /// Whether the drain is over, no follower waits for its copy, and the connection that was told carries no copies.
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

    /// The time of the last match. Without one, the end of the drain, or the beginning.
    var lastMatch: NIODeadline { self.matchedAt ?? self.drainedAt ?? self.beganAt }

    /// Consumes the first follower with this key.
    ///
    /// - Parameter isDoubted: whether equal keys are not enough, because no copies came before.
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

    /// Notes that the client repeats followers of this episode because of another error response. So it reaches the
    /// rest of them later.
    mutating func prolong(now: NIODeadline) {
        guard let drainedAt, self.matchedAt != nil, now - drainedAt < GatewayBounds.provenLifetime else { return }
        self.matchedAt = now
    }

    /// The last follower with this key that was not consumed.
    func newest(_ key: ReplayKey) -> Int? { self.log.last(key) }

    /// The first follower with this key, at most ``GatewayBounds/leftOut`` + 1 places behind another one.
    func next(_ key: ReplayKey, after position: Int) -> Int? {
        self.log.first(key) { place, _ in position < place && place <= position + GatewayBounds.leftOut + 1 }
    }

    /// Removes a follower that no copy will consume; nil if it was removed before.
    mutating func forget(_ position: Int) -> (job: JobID, fate: JobFate)? {
        guard self.log.isLive(position) else { return nil }
        self.log.remove(position)
        return (self.log[position].job, self.log[position].fate)
    }

    /// Whether a follower has this key, or had it before it was consumed.
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
    /// not enough matches.
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

    /// Puts the planned removal off, because a copy came. While copies come, one of these entries may follow: Pushy
    /// sends last what it wrote on the connection that was told, and what it could not write.
    mutating func putOffTrim(now: NIODeadline) {
        guard let latest = self.trim?.latest else { return }
        self.trim?.at = min(Self.trimTime(now: now), latest)
    }

    /// A later time does no harm. With whole tenths of a second, a deadline changes seldom.
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

    /// The followers whose copies did not come.
    var unmatched: [(job: JobID, fate: JobFate)] {
        (0..<self.log.count).lazy.filter { self.log.isLive($0) }.map { (self.log[$0].job, self.log[$0].fate) }
    }

    /// Returns the number of matches when they first prove, after the drain, that the client re-sends; otherwise nil.
    mutating func proves() -> Int? {
        guard !self.isDraining, !self.hasProved, self.evidence == .resends else { return nil }
        self.hasProved = true
        return self.matchCount
    }

    /// Whether the client may not have learned of the rejection, because no follower came again.
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
