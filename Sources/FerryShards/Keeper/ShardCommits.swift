internal import DequeModule
internal import FerryGateway
internal import NIOCore

/// The commits of an owner, in the order of their numbers.
///
/// ```
///   ring: answered, kept for 10 s │ under way on the session │ not sent
///       ◀───────── written again after a come-back, from the first that PostgreSQL lacks ─────────▶
/// ```
///
/// A failover may lose the last commits that PostgreSQL has answered. So an owner that comes back writes them again, in
/// order: a take notes the largest number that it finds, and smaller ones are refused afterwards.
struct ShardCommits {
    private struct Entry {
        var commit: StoreCommit
        var stage = Stage.new
        /// When PostgreSQL was last known to have the commit.
        var writtenAt = NIODeadline.distantPast

        var length: Int {
            self.commit.changes.reduce(self.commit.segment.bytes.count) { $0 + $1.key.count + ($1.value?.count ?? 0) }
        }
    }

    private enum Stage {
        /// The gateway waits for the answer.
        case new
        /// The gateway has the answer, and PostgreSQL has the commit, unless a failover lost it.
        case written
        /// The gateway has the answer. PostgreSQL lacked the commit, and has not answered it again.
        case lost
    }

    private let rules: ShardRules
    private var ring: Deque<Entry> = []
    private(set) var ringLength = 0
    /// The commits under way, followed by those that were not sent.
    private var unwritten: Deque<Entry> = []
    private(set) var underWay = 0

    init(_ rules: ShardRules) { self.rules = rules }

    var isWritten: Bool { self.unwritten.isEmpty }
    var count: Int { self.unwritten.count }
    var hasUnsent: Bool { self.underWay < self.unwritten.count }

    mutating func add(_ commit: StoreCommit) {
        let index = self.rules.keepsOrder ? self.unwritten.endIndex : self.underWay
        self.unwritten.insert(Entry(commit: commit), at: index)
    }

    /// Returns the next commit to send, if there is room on the session.
    mutating func next() -> StoreCommit? {
        guard self.hasUnsent, self.underWay < self.rules.underWay else { return nil }
        if self.unwritten[self.underWay].stage == .written { self.unwritten[self.underWay].stage = .lost }
        self.underWay += 1
        return self.unwritten[self.underWay - 1].commit
    }

    /// Removes and returns the oldest commit that is under way. `isNew`: the gateway waits for its answer.
    ///
    /// - Parameter now: the time of the answer; nil if the commit is never written again.
    mutating func answered(keepFrom now: NIODeadline?) -> (commit: StoreCommit, isNew: Bool)? {
        guard self.underWay > 0, var entry = self.unwritten.popFirst() else { return nil }
        self.underWay -= 1
        let isNew = entry.stage == .new
        if let now {
            entry.stage = .written
            entry.writtenAt = now
            self.ring.append(entry)
            self.ringLength += entry.length
            self.prune(now: now)
        }
        return (entry.commit, isNew)
    }

    /// Forgets old commits. Call this only after an answer of PostgreSQL: a failover may take longer than
    /// ``ShardRules/ring``, and the commits are needed after it.
    mutating func prune(now: NIODeadline) {
        while let first = self.ring.first,
            first.writtenAt + self.rules.ring <= now || self.ringLength > self.rules.ringLength
        {
            self.ringLength -= first.length
            self.ring.removeFirst()
        }
    }

    /// The session has ended: all commits must be written again.
    mutating func rewind() {
        self.unwritten = self.ring + self.unwritten
        self.ring = []
        self.ringLength = 0
        self.underWay = 0
    }

    /// Notes that PostgreSQL has the commit with this number, and so the written ones before it. They are not written
    /// again: ten seconds of commits may take ten seconds, and the owner has no right to forward meanwhile. A commit
    /// that was refused stays unwritten, although PostgreSQL has later ones.
    mutating func found(upTo last: UInt64, now: NIODeadline) {
        while self.underWay == 0, var first = self.unwritten.first, first.stage == .written,
            first.commit.segment.number <= last
        {
            first.writtenAt = now
            self.unwritten.removeFirst()
            self.ring.append(first)
            self.ringLength += first.length
        }
    }

    /// Removes all commits. Returns the numbers of those whose answer the gateway waits for.
    mutating func abandon() -> [UInt64] {
        defer { self = ShardCommits(self.rules) }
        return self.unwritten.filter { $0.stage == .new }.map(\.commit.segment.number)
    }
}
