internal import DequeModule
internal import FerryGateway
internal import NIOCore

/// The commits of an owner, in the order of their numbers.
///
/// ```
///   ring: answered, kept for 10 s │ under way on the session │ not sent
///   ◀────────────── written again after a come-back, from the left ────▶
/// ```
///
/// A failover of PostgreSQL may lose commits that it has answered. So an owner that comes back writes them again, in
/// order: a take notes the largest number that it finds, and smaller ones are refused afterwards.
struct ShardCommits {
    private struct Entry {
        var commit: StoreCommit
        /// Whether the gateway has its answer.
        var isAnswered = false
        /// When PostgreSQL answered last.
        var writtenAt = NIODeadline.distantPast

        var length: Int {
            self.commit.changes.reduce(self.commit.segment.bytes.count) { $0 + $1.key.count + ($1.value?.count ?? 0) }
        }
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
        self.underWay += 1
        return self.unwritten[self.underWay - 1].commit
    }

    /// Removes and returns the oldest commit that is under way. `isNew`: the gateway waits for its answer.
    ///
    /// - Parameter now: the time of the answer; nil if the commit is never written again.
    mutating func answered(keepFrom now: NIODeadline?) -> (commit: StoreCommit, isNew: Bool)? {
        guard self.underWay > 0, var entry = self.unwritten.popFirst() else { return nil }
        self.underWay -= 1
        let isNew = !entry.isAnswered
        if let now {
            entry.isAnswered = true
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

    /// Removes all commits. Returns the numbers of those whose answer the gateway waits for.
    mutating func abandon() -> [UInt64] {
        defer { self = ShardCommits(self.rules) }
        return self.unwritten.filter { !$0.isAnswered }.map(\.commit.segment.number)
    }
}
