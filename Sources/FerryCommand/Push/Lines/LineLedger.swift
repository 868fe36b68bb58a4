internal import DequeModule
internal import Ferry
internal import FerryCore

/// Passes records of lines, and contradictions of their outcomes, to the task that writes events.
///
/// It limits the memory of records: the task that adds them waits in ``waitForRoom()``.
final class LineLedger: Sendable {
    /// The limit, in bytes, for records with lines that have no outcome yet. A limit on the number of lines would not
    /// help, because a `ref` may be long.
    static let limit = 256 << 20

    struct News {
        var records: [LineRecords] = []
        var contradictions: [Contradiction] = []
    }

    private struct State {
        var news = News()
        /// The bytes of records that were published and not released.
        var size = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int = LineLedger.limit) {
        self.limit = limit
    }

    /// Publishes records. Call it before the first of their lines is submitted.
    func publish(_ records: LineRecords) {
        records.shrink()
        self.state.withLock { state in
            state.size += records.size
            state.news.records.append(records)
        }
    }

    func publish(_ contradiction: Contradiction) {
        self.state.withLock { $0.news.contradictions.append(contradiction) }
    }

    func take() -> News {
        self.state.withLock { state in
            defer { state.news = News() }
            return state.news
        }
    }

    /// Releases records of `size` bytes, once each of their lines has its outcome.
    func release(_ size: Int) {
        guard size > 0 else { return }
        let waiter = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.size -= size
            return state.size < self.limit ? state.waiter.take() : nil
        }
        waiter?.resume()
    }

    /// Waits until the records are smaller than ``limit``, or the task is cancelled. For one task.
    func waitForRoom() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = self.state.withLock { state -> Bool in
                    guard state.size >= self.limit, !Task.isCancelled else { return false }
                    state.waiter = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waiter.take() }?.resume()
        }
    }

    /// Whether a task waits in ``waitForRoom()``.
    var isWaitedFor: Bool { self.state.withLock { $0.waiter != nil } }
}

/// Finds the records of lines. Settled records are kept for a while, because outcomes of their lines may still be
/// contradicted.
struct LineIndex {
    /// The limit, in bytes, for settled records that are kept.
    static let memory = 16 << 20

    /// The records, in the order of their lines.
    private var records: Deque<LineRecords> = []
    /// The settled records that are still kept.
    private var settled: Deque<LineRecords> = []
    private var settledSize = 0
    /// The records of the last search. The next line is usually in the same records.
    private var last: LineRecords?

    mutating func append(_ records: LineRecords) {
        self.records.append(records)
    }

    /// Returns the only records that can contain the line with this index. Nil if no record can.
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
    ///
    /// - Returns: the size of the records if that was the last of their outcomes, else 0.
    @discardableResult
    mutating func settle(_ records: LineRecords) -> Int {
        guard records.settle() else { return 0 }
        let size = records.size
        self.settled.append(records)
        self.settledSize += size
        while self.settledSize > Self.memory, let oldest = self.settled.popFirst() {
            self.settledSize -= oldest.size
            oldest.forget()
        }
        while let first = self.records.first, first.isForgotten { self.records.removeFirst() }
        return size
    }
}
