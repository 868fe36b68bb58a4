/// The jobs that have no final answer, by their numbers.
///
/// Numbers are given in order. New jobs are in a ring, where the number gives the place. Most new jobs end soon and
/// nearly in order. The few jobs that live long move to ``OldJobs``. Otherwise the ring would grow with the gaps
/// between them.
///
/// ```
///             first
///               ▼
///   ring  ░░░░░░▓▓ ▓▓▓▓ ▓▓▓▓▓▓░░░░░     a gap: a job that has ended
/// ```
///
/// Cost: constant, and without a hash for a recent job. The ring is an array, and a closure changes a job in place. An
/// accessor that yields a job, such as that of a `Deque`, would allocate memory at each access.
struct JobTable: Sendable {
    /// The largest number of places in the ring.
    private static let recentLimit = 131_072

    /// The ring, whose length is a power of two. A place is nil if its job has ended, or if no job has its number.
    private var ring: [Job?] = Array(repeating: nil, count: 64)
    /// The place of the job with the number ``first``.
    private var head = 0
    /// The number of places, from ``head`` on, that belong to numbers. A place in a gap counts, too.
    private var recentCount = 0
    private var first: UInt64
    /// The numbers of the letters in the ring, which were sent again. Such a letter counts as read later than the
    /// jobs behind it.
    private var late: Set<JobID> = []
    private var old = OldJobs()
    private(set) var count = 0

    /// - Parameter first: the number of the first job. Jobs of an earlier process may also be inserted. They have
    ///   smaller numbers, or numbers of another epoch.
    init(first: UInt64 = 1) { self.first = first }

    /// The numbers of all jobs: those of the old jobs, ascending, then those of the recent jobs, ascending.
    var ids: [JobID] {
        let old = self.old.ids.sorted { $0.rawValue < $1.rawValue }
        let recent = (0..<self.recentCount).filter { self.ring[self.place($0)] != nil }
        return old + recent.map { JobID(rawValue: self.first + UInt64($0)) }
    }

    /// The job that was read first, as ``OldJobs/oldest()`` says; nil without jobs. A letter counts as read when it is
    /// sent again.
    ///
    /// Cost: constant on average.
    mutating func oldest() -> Job? {
        [self.old.oldest(), self.oldestRecent].compactMap(\.self).min { $0.readAt < $1.readAt }
    }

    private var oldestRecent: Job? {
        var oldest: Job?
        for index in 0..<self.recentCount {
            guard let job = self.ring[self.place(index)] else { continue }
            if oldest.map({ job.readAt < $0.readAt }) ?? true { oldest = job }
            // If a job is no letter, the jobs behind it were read later. Behind a letter, an older job may follow.
            guard self.late.contains(JobID(rawValue: self.first + UInt64(index))) else { break }
        }
        return oldest
    }

    /// Passes the jobs behind a place to `body` until `body` returns false: first the old jobs as they arrived, then
    /// the recent ones by number. Moves the place behind the last job that was looked at. Returns true if no job is
    /// left; false if `limit` is reached or `body` has returned false.
    ///
    /// A job may move from the ring to ``OldJobs`` between two calls. The job is still passed once.
    ///
    /// - Parameter limit: the largest number of places that are looked at. The places of ended jobs count, too, so
    ///   that the cost has a bound.
    func look(from place: inout WaitingPlace, atMost limit: Int, _ body: (JobID, Job) -> Bool) -> Bool {
        var left = limit
        while let next = self.old.next(after: place.arrival) {
            guard left > 0 else { return false }
            left -= 1
            place.arrival = next.arrival
            // A job with a number up to `place.job` is skipped: `body` had the job while it was in the ring, or the job
            // has arrived since, as a letter or from another process.
            guard next.id.rawValue > place.job, let job = next.job else { continue }
            guard body(next.id, job) else { return false }
        }
        let end = self.first + UInt64(self.recentCount)
        var next = max(self.first, place.job + 1)
        while next < end {
            guard left > 0 else { return false }
            left -= 1
            place.job = next
            let id = JobID(rawValue: next)
            next += 1
            if let job = self[id], !body(id, job) { return false }
        }
        return true
    }

    /// Returns the next number. If no ``insert(_:as:)`` follows before the next call of `reserve()`, no job gets this
    /// number.
    mutating func reserve() -> JobID {
        self.dropEnded()
        if self.recentCount >= Self.recentLimit { self.retire() }
        if self.recentCount == self.ring.count { self.grow() }
        self.recentCount += 1
        return JobID(rawValue: self.first + UInt64(self.recentCount) - 1)
    }

    /// Adds a job under its number. A new job has the number from ``reserve()``. A job from the store, or a letter
    /// that is sent again, keeps its old number.
    mutating func insert(_ job: consuming Job, as id: JobID) {
        // A job of a former owner of a shared store may have a larger number: if the database lost an epoch, that
        // owner's epoch may be later than the epoch of this process.
        let isOfOtherEpoch = Journal.epoch(of: id.rawValue) != Journal.epoch(of: self.first)
        assert(
            isOfOtherEpoch || id.rawValue < self.first + UInt64(self.recentCount),
            "a job has a reserved number, or an older one"
        )
        assert(self[id] == nil, "a number has one job")
        self.count += 1
        guard let place = self.place(of: id) else { return self.old.insert(job, as: id, wasRecent: false) }
        if id.rawValue + 1 < self.first + UInt64(self.recentCount) { self.late.insert(id) }
        self.ring[place] = job
    }

    /// A copy of the job; nil if no job has the number, or if the job has ended.
    subscript(id: JobID) -> Job? {
        if let place = self.place(of: id) { self.ring[place] } else { self.old[id] }
    }

    /// Changes the job in place, if it has not ended.
    mutating func change(_ id: JobID, _ body: (inout Job) -> Void) {
        if let place = self.place(of: id) { self.ring[place]?.change(body) } else { self.old.change(id, body) }
    }

    mutating func remove(_ id: JobID) {
        if let place = self.place(of: id) {
            guard self.ring[place] != nil else { return }
            self.ring[place] = nil
            if !self.late.isEmpty { self.late.remove(id) }
            self.dropEnded()
        } else if !self.old.remove(id) {
            return
        }
        self.count -= 1
    }

    private func place(_ index: Int) -> Int { (self.head + index) & (self.ring.count - 1) }

    private func place(of id: JobID) -> Int? {
        guard id.rawValue >= self.first, id.rawValue - self.first < UInt64(self.recentCount) else { return nil }
        return self.place(Int(id.rawValue - self.first))
    }

    private mutating func dropEnded() {
        while self.recentCount > 0, self.ring[self.head] == nil { self.dropFirst() }
    }

    private mutating func dropFirst() {
        self.head = self.place(1)
        self.recentCount -= 1
        self.first += 1
    }

    /// Moves the job with the smallest number in the ring to ``OldJobs``.
    private mutating func retire() {
        guard let job = self.ring[self.head] else { return self.dropFirst() }
        let id = JobID(rawValue: self.first)
        self.old.insert(job, as: id, wasRecent: self.late.remove(id) == nil)
        self.ring[self.head] = nil
        self.dropFirst()
    }

    private mutating func grow() {
        var ring: [Job?] = []
        ring.reserveCapacity(self.ring.count * 2)
        for index in self.ring.indices { ring.append(self.ring[self.place(index)]) }
        ring.append(contentsOf: repeatElement(nil, count: self.ring.count))
        self.ring = ring
        self.head = 0
    }
}

extension Job {
    fileprivate mutating func change(_ body: (inout Job) -> Void) { body(&self) }
}
