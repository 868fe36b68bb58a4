internal import DequeModule
internal import FerryGateway
internal import NIOCore

/// The commits of an owner, in the order of their numbers.
///
/// ```
///   ring: answered, kept for 10 s, │ under way on the session │ not sent
///   or by a fenced owner for 0.3 s │                          │
///       ◀───────── written again after a come-back, from the first that PostgreSQL lacks ─────────▶
/// ```
///
/// A failover may lose the last commits that PostgreSQL has answered. So an owner that comes back writes the lost
/// commits again. It writes them in order, because a later take notes the largest number that it finds: a commit with
/// a smaller number can then not be handed over. A fenced owner whose session ends hands its commits over again.
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
        /// The gateway has the answer. PostgreSQL may lack the commit, and has not answered it again.
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
    var isEmpty: Bool { self.unwritten.isEmpty && self.ring.isEmpty }
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

    /// Moves the oldest commit that is under way to the ring, and returns this commit; nil if none is under way.
    /// `isNew` says whether the gateway waits for the answer.
    mutating func answered(at now: NIODeadline) -> (commit: StoreCommit, isNew: Bool)? {
        guard self.underWay > 0, var entry = self.unwritten.popFirst() else { return nil }
        self.underWay -= 1
        let isNew = entry.stage == .new
        entry.stage = .written
        self.keep(entry, now: now)
        return (entry.commit, isNew)
    }

    private mutating func keep(_ entry: Entry, now: NIODeadline) {
        var entry = entry
        entry.writtenAt = now
        self.ring.append(entry)
        self.ringLength += entry.length
    }

    /// When PostgreSQL was last known to have the oldest commit of the ring; nil if the ring is empty.
    var oldestAnswer: NIODeadline? { self.ring.first?.writtenAt }

    /// Forgets the commits that PostgreSQL answered until a time. They are handed over and settled: see
    /// ``ShardRules/settle``.
    mutating func settle(until time: NIODeadline) {
        while let first = self.ring.first, first.writtenAt <= time { self.forgetFirst(first) }
    }

    private mutating func forgetFirst(_ entry: Entry) {
        self.ringLength -= entry.length
        self.ring.removeFirst()
    }

    /// Forgets answered commits that are older than ``ShardRules/ring``, and the oldest beyond
    /// ``ShardRules/ringLength``. Call this only after an answer of PostgreSQL: a failover may take longer than
    /// ``ShardRules/ring``, and the commits are needed after the failover.
    mutating func prune(now: NIODeadline) {
        while let first = self.ring.first,
            first.writtenAt + self.rules.ring <= now || self.ringLength > self.rules.ringLength
        {
            self.forgetFirst(first)
        }
    }

    /// The session has ended: all commits must be written again.
    mutating func rewind() {
        self.unwritten = self.ring + self.unwritten
        self.ring = []
        self.ringLength = 0
        self.underWay = 0
    }

    /// Notes that PostgreSQL has the commit with this number, and so the answered commits before it. These commits
    /// are not written again: ten seconds of commits may take ten seconds, and the owner has no right to forward
    /// meanwhile. A commit that was refused stays unwritten, although PostgreSQL has later commits.
    mutating func found(upTo last: UInt64, now: NIODeadline) {
        while self.underWay == 0, let first = self.unwritten.first, first.stage == .written,
            first.commit.segment.number <= last
        {
            self.unwritten.removeFirst()
            self.keep(first, now: now)
        }
    }

    /// Removes all commits. Returns the numbers of those whose answer the gateway waits for.
    mutating func abandon() -> [UInt64] {
        defer { self = ShardCommits(self.rules) }
        return self.unwritten.filter { $0.stage == .new }.map(\.commit.segment.number)
    }
}
