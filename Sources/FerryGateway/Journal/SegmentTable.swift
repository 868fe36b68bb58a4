internal import DequeModule
internal import FerryCore
internal import NIOCore

/// The segments in the store, the oldest first, and the reasons to keep them.
///
/// Segments are dropped in their order, because later segments have the answers to the jobs of earlier segments. The
/// oldest segment is dropped ``GatewayBounds/Journal/lifetime`` after its opening and after its last answer. An open
/// episode keeps its segments longer, while all segments together are shorter than
/// ``GatewayBounds/Journal/pinnedLength``. If few jobs are unanswered, the unanswered jobs of the oldest segments are
/// rewritten. So the size of the store depends on the unanswered jobs.
struct SegmentTable {
    struct Entry {
        let number: UInt64
        var openedAt: NIODeadline
        var length = 0
        /// The numbers of the first and the last job that was read in this segment.
        var jobs: ClosedRange<UInt64>?
        /// The jobs of the segment that have other numbers than ``jobs``: rewritten jobs, letters that were sent again,
        /// and jobs of earlier processes.
        var carried: [JobID] = []
        var count = 0
        /// The number of unanswered jobs.
        var live = 0
        var answeredAt: NIODeadline
        var isDurable = false
    }

    /// The range of segments that an episode needs. If `last` is nil, the range reaches to the newest segment.
    private struct Pin {
        var first: UInt64
        var last: UInt64?
    }

    private var entries: Deque<Entry> = []
    private var pins: [EpisodeID: Pin] = [:]
    private var length = 0
    private var count = 0
    private var live = 0

    var isEmpty: Bool { self.entries.isEmpty }
    /// The number of segments.
    var entryCount: Int { self.entries.count }

    mutating func add(_ entry: Entry) {
        self.entries.append(entry)
        self.length += entry.length
        self.count += entry.count
        self.live += entry.live
    }

    mutating func durable(_ number: UInt64) {
        if let index = self.index(of: number) { self.entries[index].isDurable = true }
    }

    /// Notes that a job of the segment has its answer.
    mutating func answered(_ number: UInt64, now: NIODeadline) {
        guard let index = self.index(of: number) else { return assertionFailure("unanswered jobs keep their segment") }
        self.live -= 1
        self.entries[index].live -= 1
        self.entries[index].answeredAt = now
    }

    /// Notes that a job of the segment was rewritten in another one.
    mutating func moved(_ number: UInt64) {
        guard let index = self.index(of: number) else { return assertionFailure("unanswered jobs keep their segment") }
        self.live -= 1
        self.entries[index].live -= 1
    }

    // MARK: Episodes

    /// Keeps the segments that were opened at `since` or later, up to the segment `last`, until ``over(_:)`` is called.
    /// If `last` is nil, ``closed(_:at:)`` names the last segment. Until then, all newer segments are kept.
    mutating func open(_ episode: EpisodeID, since: NIODeadline, last: UInt64? = nil) {
        let first = self.entries.first { $0.openedAt >= since }?.number
        self.pins[episode] = Pin(first: first ?? (self.entries.last?.number ?? 0) + 1, last: last)
    }

    /// Notes that no segment after `number` has notifications of the connection.
    mutating func closed(_ connection: ConnectionID, at number: UInt64) {
        for episode in self.pins.keys where episode.connection == connection && self.pins[episode]?.last == nil {
            self.pins[episode]?.last = number
        }
    }

    mutating func over(_ episode: EpisodeID) { self.pins[episode] = nil }

    private func isPinned(_ number: UInt64) -> Bool {
        guard self.length < GatewayBounds.Journal.pinnedLength else { return false }
        return self.pins.values.contains { $0.first <= number && number <= $0.last ?? .max }
    }

    // MARK: The end of segments

    /// Removes the oldest segments that are no longer needed. Returns their numbers.
    mutating func takeUnneeded(now: NIODeadline) -> [UInt64] {
        var numbers: [UInt64] = []
        while let oldest = self.entries.first, oldest.live == 0, self.isPast(oldest, now: now) {
            numbers.append(oldest.number)
            self.length -= oldest.length
            self.count -= oldest.count
            self.entries.removeFirst()
        }
        return numbers
    }

    /// The oldest segments whose unanswered jobs should be rewritten.
    func sparse(now: NIODeadline) -> [Entry] {
        var count = self.count
        var sparse: [Entry] = []
        for entry in self.entries {
            guard self.live * GatewayBounds.Journal.sparseness < count, self.isPast(entry, now: now) else { break }
            sparse.append(entry)
            count += entry.live - entry.count
        }
        return sparse
    }

    private func isPast(_ entry: Entry, now: NIODeadline) -> Bool {
        entry.isDurable && entry.openedAt + GatewayBounds.Journal.lifetime <= now
            && (entry.live > 0 || entry.answeredAt + GatewayBounds.Journal.lifetime <= now)
            && !self.isPinned(entry.number)
    }

    private func index(of number: UInt64) -> Int? {
        var (low, high) = (0, self.entries.count)
        while low < high {
            let middle = (low + high) / 2
            if self.entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < self.entries.count && self.entries[low].number == number ? low : nil
    }
}
