internal import DequeModule
internal import FerryBinary

/// The jobs that have no last answer, by their numbers.
///
/// Numbers are given in order, and most jobs end soon and nearly in order: those are found by their place. Few jobs live
/// long; they move to a table, so that the places between them are freed.
///
/// Cost: constant, and without a hash for a recent job.
struct JobTable: Sendable {
    /// The number of places that are kept.
    private static let recentLimit = 131_072

    /// The jobs from ``first`` on; nil: ended.
    private var recent: Deque<Job?> = []
    private var first: UInt64
    private var old: [JobID: Job] = [:]
    private(set) var count = 0

    /// - Parameter first: the number of the first job. Jobs with smaller numbers, from an earlier process, may be inserted.
    init(first: UInt64 = 1) { self.first = first }

    /// All numbers, ascending.
    var ids: [JobID] {
        let old = self.old.keys.sorted { $0.rawValue < $1.rawValue }
        return old
            + self.recent.indices.filter { self.recent[$0] != nil }.map { JobID(rawValue: self.first + UInt64($0)) }
    }

    /// Returns the next number. Without ``insert(_:as:)`` before the next call it stays unused.
    mutating func reserve() -> JobID {
        self.dropEnded()
        if self.recent.count >= Self.recentLimit { self.retire() }
        self.recent.append(nil)
        return JobID(rawValue: self.first + UInt64(self.recent.count) - 1)
    }

    /// Adds a job with a reserved number.
    mutating func insert(_ job: consuming Job, as id: JobID) {
        self.count += 1
        if let index = self.index(id) { self.recent[index] = job } else { self.old[id] = job }
    }

    /// Changes a job in place with optional chaining. Use ``remove(_:)`` to remove one.
    subscript(id: JobID) -> Job? {
        _read {
            if let index = self.index(id) {
                yield self.recent[index]
            } else {
                yield self.old[id]
            }
        }
        _modify {
            if let index = self.index(id) {
                yield &self.recent[index]
            } else {
                yield &self.old[id]
            }
        }
    }

    mutating func remove(_ id: JobID) {
        if let index = self.index(id) {
            guard self.recent[index] != nil else { return }
            self.recent[index] = nil
            self.dropEnded()
        } else if self.old.removeValue(forKey: id) == nil {
            return
        }
        self.count -= 1
    }

    private func index(_ id: JobID) -> Int? {
        guard id.rawValue >= self.first, id.rawValue - self.first < UInt64(self.recent.count) else { return nil }
        return Int(id.rawValue - self.first)
    }

    private mutating func dropEnded() {
        while case .some(.none) = self.recent.first {
            self.recent.removeFirst()
            self.first += 1
        }
    }

    /// Moves the oldest job to the table.
    private mutating func retire() {
        guard let job = self.recent.popFirst() else { return }
        if let job { self.old[JobID(rawValue: self.first)] = job }
        self.first += 1
    }
}
