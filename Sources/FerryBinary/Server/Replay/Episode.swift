package import FerryCore
internal import DequeModule
internal import NIOCore

/// The name of an episode: the connection that was told, and the sequence number of the notification that was named.
package struct EpisodeID: Hashable, Sendable {
    package var connection: ConnectionID
    package var sequence: UInt64

    package init(connection: ConnectionID, sequence: UInt64) {
        self.connection = connection
        self.sequence = sequence
    }
}

/// A notification that a client sent after the one that was named, and may send again.
package struct Follower: Hashable, Sendable {
    package var key: ReplayKey
    package var job: JobID
    package var fate: JobFate
    /// The payload is identical by nature (device management, content-available only, `{}`), so that equal keys prove
    /// little.
    package var isConstant: Bool
    /// Nil: it has none, or it is not known any more.
    package var identifier: UInt32?

    package init(key: ReplayKey, job: JobID, fate: JobFate, isConstant: Bool, identifier: UInt32? = nil) {
        self.key = key
        self.job = job
        self.fate = fate
        self.isConstant = isConstant
        self.identifier = identifier
    }
}

/// The event that began an episode.
package enum EpisodeKind: Hashable, Sendable {
    /// An error response that names a refused notification.
    case rejection
    /// Status 10. Clients differ in what they do with it, so it proves nothing.
    case shutdown
    /// The gateway's process was killed. Its clients were told nothing, so this proves nothing either.
    case crash
    /// It was open when the gateway's process was killed. Whether the client has read the error response is not known, so
    /// this proves nothing.
    case restored

    /// Whether its connection is gone when it is opened.
    var isPast: Bool { self == .crash || self == .restored }
}

/// Everything that one client may send again because of one event: the followers of one notification.
///
/// ```
///   ┌──────────┐ drained ┌──────┐ all matched; too long without a match
///   │ draining │────────▶│ open │──────────────────────────────────────▶ ended
///   └──────────┘         └──────┘
/// ```
///
/// While it drains, followers are appended. In both states copies are matched.
struct Episode: Sendable {
    private struct Entry: Sendable {
        var job: JobID
        var fate: JobFate
        var isConstant: Bool
        var identifier: UInt32?
        var isMatched = false

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
        var before: Int
    }

    /// What the client writes on the connection that was told.
    private enum Writing {
        /// Anything. Of late, so many of the first followers came again, one after the other. Nil: the notification that the
        /// error response names came again, as in a list that is sent twice.
        case on(repeated: Int?)
        /// Its followers, under their old identifiers, and not on the next connection.
        case inPlace
        /// Its followers, under new identifiers, until it sees the end of the connection. They come on the next one, too.
        case inCircles
    }

    /// The conclusion of an episode about its client.
    enum Evidence: Equatable {
        case nothing
        case resends
        case miss
    }

    let id: EpisodeID
    let kind: EpisodeKind
    let openedAt: NIODeadline
    /// The key of the notification that the error response names; nil: it has none, as one that the gateway refused.
    private let named: ReplayKey?
    /// The position in the filter's list of overtaking copies from which on they can belong to this drain.
    let overtakersFrom: Int
    private var log = ReplayLog<Entry>()
    private(set) var matchCount = 0
    /// The followers that came again on other connections.
    private var copyCount = 0
    private var hasProved = false
    private(set) var earliestMatch: Int?
    /// The highest matched positions, ascending: ``GatewayBounds/matchesThatTrim`` at most.
    private var highest: [Int] = []
    private var trims: Deque<Trim> = []
    private var trimmedTo = 0
    private var writing = Writing.on(repeated: 0)
    private var drainedAt: NIODeadline?
    private var matchedAt: NIODeadline?

    init(_ id: EpisodeID, _ kind: EpisodeKind, named: ReplayKey?, overtakersFrom: Int, now: NIODeadline) {
        self.id = id
        self.named = named
        self.openedAt = now
        self.kind = kind
        self.overtakersFrom = overtakersFrom
    }

    var count: Int { self.log.count }
    var isDraining: Bool { self.drainedAt == nil }
    /// Whether all copies have come.
    var isConsumed: Bool { !self.isDraining && self.log.liveCount == 0 }
    /// Whether nothing can come any more. What a client sent in circles may still be on its way.
    var isComplete: Bool { self.isConsumed && !self.isCircling }

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

    mutating func settle(_ position: Int, _ fate: JobFate) { self.log[position].fate = fate }

    // MARK: Matching

    /// A copy, and the follower whose copy it is.
    struct Match {
        var position: Int
        var job: JobID
        var fate: JobFate
        /// Equal keys are evidence here, and not enough to swallow the copy.
        var isEvidenceOnly: Bool
    }

    /// The time of the last match, or of the end of the drain, or of the beginning.
    var lastMatch: NIODeadline { self.matchedAt ?? self.drainedAt ?? self.openedAt }

    /// Consumes the first follower with this key.
    ///
    /// - Parameters:
    ///   - identifier: the follower has this identifier, too; nil: it may have any.
    ///   - isDoubted: whether equal keys are not enough here, because no copies came before.
    mutating func match(
        _ key: ReplayKey,
        identifier: UInt32? = nil,
        isProven: Bool,
        isDoubted: Bool,
        now: NIODeadline
    ) -> Match? {
        let isLate = self.drainedAt.map { now - $0 > GatewayBounds.matchedLifetime } ?? false
        let position = self.log.first(key) { _, entry in
            !(entry.isConstant && isProven && isLate) && (identifier == nil || entry.identifier == identifier)
        }
        guard let position else { return nil }
        self.log.remove(position)
        if !isDoubted {
            self.matchedAt = now
            self.confirm(position)
        }
        let entry = self.log[position]
        let isEvidenceOnly = isDoubted || entry.isConstant && !isProven
        if identifier != nil { self.cameInPlace() } else if !isEvidenceOnly { self.copyCount += 1 }
        return Match(position: position, job: entry.job, fate: entry.fate, isEvidenceOnly: isEvidenceOnly)
    }

    /// Whether the client was seen to circle.
    var isCircling: Bool { if case .inCircles = self.writing { true } else { false } }

    /// Whether a list that is sent twice is known by the notification before the first follower.
    var isNamed: Bool { self.named != nil }

    /// Whether followers came again on other connections. A single one may be a repeat on purpose.
    var hasCopiesElsewhere: Bool {
        if case .inPlace = self.writing { return false }
        return self.kind == .rejection && self.copyCount >= GatewayBounds.circle
    }

    /// Whether what comes on the connection that was told may be a circle. Behind the drain it is one only of a client that
    /// has gone on elsewhere: another one repeats itself.
    var mayCircle: Bool { self.isDraining || self.isCircling && self.evidence == .resends }

    /// Notes that a follower came again on the connection that was told, under its old identifier.
    private mutating func cameInPlace() { if case .on = self.writing { self.writing = .inPlace } }

    /// Returns whether this is a follower that came again on the connection that was told, under a new identifier, because the
    /// client circles: it has read the error response, but not the end behind it, and takes all that it writes there for
    /// unprocessed. A row of the first followers tells that from a repeat on purpose.
    ///
    /// - Parameter row: the length of the row; nil: none is needed.
    mutating func circled(_ offered: Follower, row: Int?, isProven: Bool) -> Bool {
        guard self.mayCircle, let position = self.log.earliest(offered.key) else {
            if case .on = self.writing { self.writing = .on(repeated: offered.key == self.named ? nil : 0) }
            return false
        }
        switch self.writing {
        case .inPlace:
            return false
        case .on(let repeated):
            let count = position == repeated ? position + 1 : position == 0 && repeated != nil ? 1 : 0
            self.writing = .on(repeated: offered.key == self.named ? nil : count)
            guard repeated != nil, !offered.isConstant || isProven, count >= row ?? 0 else { return false }
            self.writing = .inCircles
            return true
        case .inCircles:
            return true
        }
    }

    /// Whether it has a follower with this key, or had one that was consumed.
    func had(_ key: ReplayKey) -> Bool { self.log.earliest(key) != nil }

    /// Counts a follower that was consumed as one whose copy came.
    mutating func confirm(_ position: Int) {
        self.log[position].isMatched = true
        self.matchCount += 1
        self.earliestMatch = min(self.earliestMatch ?? position, position)
        self.highest.append(position)
        self.highest.sort()
        if self.highest.count > GatewayBounds.matchesThatTrim { self.highest.removeFirst() }
    }

    /// The entries before this position will not come back: a cache was too small for them. Nil: not enough matches.
    private var trimPosition: Int? {
        guard self.highest.count == GatewayBounds.matchesThatTrim, let lowest = self.highest.first else { return nil }
        let position = lowest - GatewayBounds.trimDistance
        return position > self.trimmedTo ? position : nil
    }

    /// Plans to drop the entries that will not come back.
    mutating func planTrim(at time: NIODeadline) {
        guard let before = self.trimPosition, before > self.trims.last?.before ?? 0 else { return }
        // A later time is harmless. So one plan for each tenth of a second is enough.
        let step: UInt64 = 100_000_000
        let at = NIODeadline.uptimeNanoseconds((time.uptimeNanoseconds / step + 1) * step)
        if self.trims.last?.at == at { self.trims.removeLast() }
        self.trims.append(Trim(at: at, before: before))
    }

    /// Drops the entries whose time has come; returns them.
    mutating func trim(now: NIODeadline) -> [(job: JobID, fate: JobFate)] {
        var before = 0
        while let trim = self.trims.first, trim.at <= now {
            before = max(before, trim.before)
            self.trims.removeFirst()
        }
        var dropped: [(job: JobID, fate: JobFate)] = []
        while self.trimmedTo < min(before, self.log.count) {
            if self.log.isLive(self.trimmedTo) {
                self.log.remove(self.trimmedTo)
                dropped.append((self.log[self.trimmedTo].job, self.log[self.trimmedTo].fate))
            }
            self.trimmedTo += 1
        }
        return dropped
    }

    // MARK: The end

    /// When the episode ends without another match, or drops entries; nil while it drains.
    ///
    /// - Parameter unmatchedLifetime: how long it lives without any match.
    func nextDeadline(unmatchedLifetime: TimeAmount) -> NIODeadline? {
        let end = self.end(unmatchedLifetime: unmatchedLifetime)
        guard let trim = self.trims.first?.at else { return end }
        return end.map { min($0, trim) } ?? trim
    }

    func end(unmatchedLifetime: TimeAmount) -> NIODeadline? {
        guard let drainedAt else { return nil }
        if let matchedAt { return max(matchedAt, drainedAt) + GatewayBounds.matchedLifetime }
        return drainedAt + (self.kind == .crash ? GatewayBounds.unmatchedLifetime : unmatchedLifetime)
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

    var evidence: Evidence {
        guard self.kind == .rejection, self.log.count > 0 else { return .nothing }
        let recent = max(0, self.log.count - GatewayBounds.evidence)..<self.log.count
        let came = recent.count { self.log[$0].isMatched }
        if came > 0, came * 2 >= recent.count { return .resends }
        return self.matchCount == 0 || self.log.count >= GatewayBounds.missFloor ? .miss : .nothing
    }
}
