internal import DequeModule

/// Jobs that live long, jobs of an earlier process, and letters that were sent again, by their numbers.
///
/// Each arrival of a job in this table has a number of its own. A letter that is sent again keeps the number of its
/// ended job. Only the number of the arrival distinguishes the letter from that job.
struct OldJobs: Sendable {
    private struct Entry: Sendable {
        var job: Job
        var arrival: UInt64

        mutating func change(_ body: (inout Job) -> Void) { body(&self.job) }
    }

    /// Numbers of jobs in the order of their arrivals. Some of these jobs may have ended.
    private struct Order: Sendable {
        private(set) var entries: Deque<(arrival: UInt64, id: JobID)> = []

        mutating func append(_ arrival: UInt64, _ id: JobID, in jobs: [JobID: Entry]) {
            self.entries.append((arrival, id))
            // Without this removal, any number of ended jobs could collect behind a job that lives long.
            guard self.entries.count > 2 * jobs.count + 64 else { return }
            self.entries.removeAll { jobs[$0.id]?.arrival != $0.arrival }
        }

        /// Returns the first job, and removes the numbers of ended jobs in front of it.
        mutating func first(in jobs: [JobID: Entry]) -> Job? {
            while let first = self.entries.first {
                if let entry = jobs[first.id], entry.arrival == first.arrival { return entry.job }
                self.entries.removeFirst()
            }
            return nil
        }

        /// The first entry after an arrival; nil behind the last one. Cost: the logarithm of the number of entries.
        func next(after arrival: UInt64) -> (arrival: UInt64, id: JobID)? {
            var (low, high) = (0, self.entries.count)
            while low < high {
                let middle = (low + high) / 2
                if self.entries[middle].arrival <= arrival { low = middle + 1 } else { high = middle }
            }
            return low < self.entries.count ? self.entries[low] : nil
        }
    }

    private var jobs: [JobID: Entry] = [:]
    private var lastArrival: UInt64 = 0
    /// The jobs that come from the ring of ``JobTable``, without letters that were sent again.
    private var retired = Order()
    /// The jobs of an earlier process, and letters that were sent again.
    private var others = Order()

    var ids: some Collection<JobID> { self.jobs.keys }

    subscript(id: JobID) -> Job? { self.jobs[id]?.job }

    /// - Parameter wasRecent: whether the job comes from the ring of ``JobTable``, and is not a letter that was sent
    ///   again. Such jobs arrive in the order in which they were read. Any other job in ``retired`` would make
    ///   ``oldest()`` wrong.
    mutating func insert(_ job: consuming Job, as id: JobID, wasRecent: Bool) {
        self.lastArrival += 1
        self.jobs[id] = Entry(job: job, arrival: self.lastArrival)
        if wasRecent {
            self.retired.append(self.lastArrival, id, in: self.jobs)
        } else {
            self.others.append(self.lastArrival, id, in: self.jobs)
        }
    }

    mutating func change(_ id: JobID, _ body: (inout Job) -> Void) { self.jobs[id]?.change(body) }

    /// Removes a job. Returns false if there is no job with this number.
    mutating func remove(_ id: JobID) -> Bool { self.jobs.removeValue(forKey: id) != nil }

    /// The job that was read first; nil without jobs. Among the jobs of an earlier process and the letters, the job
    /// that arrived first counts as read first.
    ///
    /// Cost: constant on average.
    mutating func oldest() -> Job? {
        let jobs = [self.others.first(in: self.jobs), self.retired.first(in: self.jobs)]
        return jobs.compactMap(\.self).min { $0.readAt < $1.readAt }
    }

    /// The next arrival, with its job; nil behind the last arrival. The job is nil if it has ended.
    func next(after arrival: UInt64) -> (arrival: UInt64, id: JobID, job: Job?)? {
        let (other, retired) = (self.others.next(after: arrival), self.retired.next(after: arrival))
        guard let next = other?.arrival ?? .max < retired?.arrival ?? .max ? other : retired else { return nil }
        let entry = self.jobs[next.id]
        return (next.arrival, next.id, entry?.arrival == next.arrival ? entry?.job : nil)
    }
}
