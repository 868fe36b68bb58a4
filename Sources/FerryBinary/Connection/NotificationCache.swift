internal import DequeModule
internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The notifications that one connection has written. It maps the identifier of an error response to a notification.
///
/// ```
///   knownFrom          settledTo               next
///       │   history        │     unsettled      │
///       ▼                  ▼                    ▼
///   ────┬──────────────────┬────────────────────┬──── sequence numbers
///       │ outcome given,   │ outcome not given  │ not written
///       │ kept for a late  │                    │
///       │ error response   │                    │
/// ```
///
/// Three other sequence numbers may be in either part. Notifications from `cachedFrom` on have their bytes. An older
/// one is a stub, an entry without bytes. Before `provedTo` every outcome is proved. Before `clearedTo` the peer was
/// silent during a search.
///
/// ``Length`` says how many notifications it may hold.
struct NotificationCache {
    private(set) var history: Deque<Written> = []
    private(set) var unsettled: Deque<Written> = []
    /// The sequence number that the connection started with.
    let start: UInt64
    /// The sequence number of the next notification.
    private(set) var next: UInt64
    private(set) var cachedFrom: UInt64
    private(set) var provedTo: UInt64
    private(set) var clearedTo: UInt64
    private(set) var unsettledCount = 0
    /// The bytes of the unsettled notifications.
    private(set) var unsettledBytes = 0
    /// The number of settled notifications that are still known, with or without bytes.
    private(set) var historyCount = 0
    /// The bytes of the settled notifications.
    private(set) var historyBytes = 0

    init(start: UInt64) {
        self.start = start
        self.next = start
        self.cachedFrom = start
        self.provedTo = start
        self.clearedTo = start
    }

    /// The sequence numbers that the connection has used.
    var issued: Range<UInt64> { self.start..<self.next }

    var settledTo: UInt64 { self.unsettled.first?.first ?? self.next }

    /// The number of settled notifications that have their bytes.
    var retainedCount: Int { Int(self.settledTo - min(max(self.cachedFrom, self.knownFrom), self.settledTo)) }

    /// The sequence number of the oldest notification that is still known.
    var knownFrom: UInt64 { self.history.first?.first ?? self.settledTo }

    /// The number of notifications that have their bytes.
    var cachedCount: Int { Int(self.next - self.cachedFrom) }

    var content: Content {
        Content(
            unsettled: self.unsettledCount,
            unsettledBytes: self.unsettledBytes,
            retained: self.retainedCount,
            retainedBytes: self.historyBytes
        )
    }

    mutating func append(_ run: BatchRun, at now: NIODeadline) {
        self.unsettled.append(Written(run: run, first: self.next, writtenAt: now))
        self.next += UInt64(run.count)
        self.unsettledCount += run.count
        self.unsettledBytes += run.byteCount
    }

    /// Takes a sequence number for a probe, which is not a notification.
    mutating func skip() -> UInt64 {
        defer { self.next += 1 }
        return self.next
    }

    /// Moves the unsettled notifications before `end` into the history, and returns them.
    mutating func settle(before end: UInt64, at now: NIODeadline) -> [Written] {
        assert(end <= self.next, "an outcome belongs to a notification that was written")
        var settled: [Written] = []
        while var first = self.unsettled.first, first.first < end {
            if first.end <= end {
                self.unsettled.removeFirst()
            } else {
                first = self.unsettled[0].takeFirst(Int(end - first.first))
            }
            first.settledAt = now
            let bytes = self.cachedBytes(of: first)
            self.unsettledCount -= first.run.count
            self.unsettledBytes -= bytes
            self.historyCount += first.run.count
            self.historyBytes += bytes
            self.history.append(first)
            settled.append(first)
        }
        return settled
    }

    /// Notes that every outcome before `end` is proved.
    mutating func prove(before end: UInt64) { self.provedTo = max(self.provedTo, end) }

    /// Notes that during a search the peer was silent about everything that was written.
    mutating func clear() { self.clearedTo = self.next }

    /// Removes and returns the notification `sequence`; nil when it is no longer known.
    ///
    /// Call it only right before the connection is given up, because it leaves a gap in the numbers.
    mutating func remove(_ sequence: UInt64) -> Written? {
        var found = self.take(from: sequence, before: sequence + 1)
        return found.popLast()
    }

    /// Removes and returns all notifications after `sequence`, settled or not.
    mutating func removeFollowers(of sequence: UInt64) -> [Written] {
        self.take(from: sequence + 1, before: .max)
    }

    /// Removes and returns all notifications that are still known.
    mutating func removeAll() -> [Written] {
        self.take(from: 0, before: .max)
    }

    /// Removes and returns all unsettled notifications.
    mutating func removeUnsettled() -> [Written] {
        self.take(from: self.settledTo, before: .max)
    }

    /// Removes and returns the settled notifications from `sequence` on.
    ///
    /// - Parameter cached: whether to take only notifications that still have their bytes.
    mutating func removeHistory(from sequence: UInt64, cached: Bool) -> [Written] {
        self.take(from: cached ? max(sequence, self.cachedFrom) : sequence, before: self.settledTo)
    }

    /// When the notification was written; nil when it is no longer known.
    func writtenAt(_ sequence: UInt64) -> NIODeadline? {
        let part = sequence >= self.settledTo ? self.unsettled : self.history
        return part.first { $0.first <= sequence && sequence < $0.end }?.writtenAt
    }

    /// Whether the bytes of the notification are still there.
    func isCached(_ sequence: UInt64) -> Bool { sequence >= self.cachedFrom }

    /// Removes the bytes of the oldest notifications until only `count` have theirs.
    mutating func evict(keeping count: Int) {
        self.evict(before: self.next - min(UInt64(max(count, 0)), self.next - self.cachedFrom))
    }

    /// The oldest settled notifications that have bytes, at least in part.
    var oldestHistory: Written? {
        let index = self.history.partitionIndex { $0.end <= self.cachedFrom }
        return index < self.history.endIndex ? self.history[index] : nil
    }

    /// Removes the bytes of ``oldestHistory``. Returns the numbers of its notifications and bytes.
    mutating func evictOldestHistory() -> (count: Int, bytes: Int)? {
        guard let written = self.oldestHistory else { return nil }
        let freed = (Int(written.end - max(written.first, self.cachedFrom)), self.cachedBytes(of: written))
        self.evict(before: written.end)
        return freed
    }

    /// Forgets the notifications that were settled until `deadline`, and the oldest stubs beyond `stubLimit`.
    mutating func forget(settledUntil deadline: NIODeadline, stubLimit: Int) {
        while let oldest = self.history.first,
            oldest.settledAt <= deadline || oldest.end + UInt64(stubLimit) < min(self.cachedFrom, self.settledTo)
        {
            self.evict(before: oldest.end)
            self.history.removeFirst()
            self.historyCount -= oldest.run.count
        }
    }

    private mutating func evict(before end: UInt64) {
        guard end > self.cachedFrom else { return }
        self.historyBytes -= Self.releaseBytes(of: self.history, in: self.cachedFrom..<end)
        self.unsettledBytes -= Self.releaseBytes(of: self.unsettled, in: self.cachedFrom..<end)
        self.cachedFrom = end
    }

    private static func releaseBytes(of part: Deque<Written>, in range: Range<UInt64>) -> Int {
        var released = 0
        var index = part.partitionIndex { $0.end <= range.lowerBound }
        while index < part.endIndex, part[index].first < range.upperBound {
            let written = part[index]
            let from = max(written.first, range.lowerBound)
            let to = min(written.end, range.upperBound)
            let slice = written.run.slice(Int(from - written.first)..<Int(to - written.first))
            released += slice.byteCount
            slice.storage.releaseBytes(of: slice.count)
            index += 1
        }
        return released
    }

    private func cachedBytes(of written: Written) -> Int {
        guard written.first < self.cachedFrom else { return written.run.byteCount }
        guard written.end > self.cachedFrom else { return 0 }
        return written.run.slice(Int(self.cachedFrom - written.first)..<written.run.count).byteCount
    }

    private mutating func take(from start: UInt64, before end: UInt64) -> [Written] {
        let history = Self.take(&self.history, from: start, before: end)
        let unsettled = Self.take(&self.unsettled, from: start, before: end)
        for written in history {
            self.historyCount -= written.run.count
            self.historyBytes -= self.cachedBytes(of: written)
        }
        for written in unsettled {
            self.unsettledCount -= written.run.count
            self.unsettledBytes -= self.cachedBytes(of: written)
        }
        return history + unsettled
    }

    private static func take(_ part: inout Deque<Written>, from start: UInt64, before end: UInt64) -> [Written] {
        var taken: [Written] = []
        var kept: Deque<Written> = []
        for var written in part {
            for (part, isTaken) in [(written.takeFirst(before: start), false), (written.takeFirst(before: end), true)]
            where part.run.count > 0 {
                if isTaken { taken.append(part) } else { kept.append(part) }
            }
            if written.run.count > 0 { kept.append(written) }
        }
        part = kept
        return taken
    }
}

extension Deque {
    /// Returns the index of the first element for which `belongsBefore` is false. It must be true for all before that
    /// element and false for all after it.
    func partitionIndex(where belongsBefore: (Element) -> Bool) -> Int {
        var low = self.startIndex
        var high = self.endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if belongsBefore(self[middle]) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
