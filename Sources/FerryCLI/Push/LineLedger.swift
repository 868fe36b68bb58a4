internal import DequeModule
internal import Ferry
internal import Synchronization

/// Hands records of lines, and late news of them, to the task that writes events.
final class LineLedger: Sendable {
    struct News {
        var records: [LineRecords] = []
        var contradictions: [Contradiction] = []
    }

    private let news = Mutex(News())

    /// Makes records known. To be called before the first of their lines is submitted.
    func publish(_ records: LineRecords) {
        self.news.withLock { $0.records.append(records) }
    }

    func publish(_ contradiction: Contradiction) {
        self.news.withLock { $0.contradictions.append(contradiction) }
    }

    func take() -> News {
        self.news.withLock { news in
            defer { news = News() }
            return news
        }
    }
}

/// Finds the records of lines: of those without an outcome, and for a while of those that have one, because late news
/// may still come of them.
struct LineIndex {
    /// Bytes of records that are kept after the last of their lines has its outcome.
    static let memory = 16 << 20

    /// In the order of their lines.
    private var records: Deque<LineRecords> = []
    /// Those of which every line has its outcome, and which are still kept.
    private var settled: Deque<LineRecords> = []
    private var settledSize = 0
    /// Where the last line was found; the next is most often its neighbour.
    private var last: LineRecords?

    mutating func append(_ records: LineRecords) {
        self.records.append(records)
    }

    /// The records that the line with that index belongs to, if it has any.
    mutating func find(_ index: UInt64) -> LineRecords? {
        if let last, last.first <= index, index - last.first < last.count { return last }
        var range = 0..<self.records.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            if self.records[middle].first <= index {
                range = middle + 1..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        guard range.lowerBound > 0 else { return nil }
        self.last = self.records[range.lowerBound - 1]
        return self.last
    }

    /// Notes an outcome of a line of `records`.
    mutating func settle(_ records: LineRecords) {
        guard records.settle() else { return }
        self.settled.append(records)
        self.settledSize += records.size
        while self.settledSize > Self.memory, let oldest = self.settled.popFirst() {
            self.settledSize -= oldest.size
            oldest.forget()
        }
        while let first = self.records.first, first.isForgotten { self.records.removeFirst() }
    }
}
