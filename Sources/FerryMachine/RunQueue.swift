internal import DequeModule
package import FerryCore

/// Notifications that wait to be written, in the order of their submission.
///
/// The queue holds runs. So a batch is inserted as one piece, and so are the followers of an error that go back to the
/// front.
package struct RunQueue {
    private var runs: Deque<BatchRun> = []
    package private(set) var count = 0
    package private(set) var byteCount = 0

    package init() {}

    package var isEmpty: Bool { self.count == 0 }

    package var first: BatchRun? { self.runs.first }

    package func forEach(_ body: (BatchRun) -> Void) {
        for run in self.runs { body(run) }
    }

    package mutating func append(_ run: BatchRun) {
        guard run.count > 0 else { return }
        self.count += run.count
        self.byteCount += run.byteCount
        self.runs.append(run)
    }

    /// Inserts a run at its place in the order of submission, which is nearly always the front or the end.
    package mutating func insert(_ run: BatchRun) {
        guard run.count > 0 else { return }
        self.count += run.count
        self.byteCount += run.byteCount
        self.put(run)
    }

    private mutating func put(_ run: BatchRun) {
        if let last = self.runs.last, last.precedes(run) { return self.runs.append(run) }
        self.runs.insert(run, at: self.place(of: run))
    }

    /// Moves the first run to its place. Copies may interleave, so the rest of a run may be younger than the next run.
    private mutating func replaceFirst() {
        guard self.runs.count > 1, !self.runs[0].precedes(self.runs[1]) else { return }
        self.put(self.runs.removeFirst())
    }

    /// The number of runs that precede `run`. The search begins near the front. O(log n).
    private func place(of run: BatchRun) -> Int {
        var (low, step) = (0, 1)
        while low + step <= self.runs.count, self.runs[low + step - 1].precedes(run) {
            low += step
            step *= 2
        }
        var high = min(low + step - 1, self.runs.count)
        while low < high {
            let middle = low + (high - low) / 2
            if self.runs[middle].precedes(run) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Removes and returns up to `limit` notifications of the first run; nil if the queue is empty.
    package mutating func popFirst(atMost limit: Int) -> BatchRun? {
        guard limit > 0, !self.runs.isEmpty else { return nil }
        let run: BatchRun
        if self.runs[0].count <= limit {
            run = self.runs.removeFirst()
        } else {
            run = self.runs[0].takeFirst(limit)
            self.replaceFirst()
        }
        self.count -= run.count
        self.byteCount -= run.byteCount
        return run
    }

    /// Puts notifications before all others, regardless of their place.
    package mutating func prepend(_ run: BatchRun) {
        guard run.count > 0 else { return }
        self.count += run.count
        self.byteCount += run.byteCount
        self.runs.prepend(run)
    }

    /// Removes and returns all runs.
    package mutating func removeAll() -> [BatchRun] {
        defer { self = RunQueue() }
        return Array(self.runs)
    }

    /// Removes and returns the notifications that `isWithdrawn` accepts, in order. O(count).
    package mutating func remove(where isWithdrawn: (BatchEntry) -> Bool) -> [BatchRun] {
        var withdrawn: [BatchRun] = []
        for run in self.removeAll() {
            run.forEachPart(alike: isWithdrawn) { part, isWithdrawn in
                if isWithdrawn { withdrawn.append(part) } else { self.insert(part) }
            }
        }
        return withdrawn
    }
}
