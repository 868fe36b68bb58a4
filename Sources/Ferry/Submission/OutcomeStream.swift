internal import DequeModule
public import FerryCore
internal import Synchronization

/// The outcomes of a provider that was made with ``OutcomeDelivery/stream``, in the order they were given.
///
/// Lossless: an outcome that is not read holds its notification's place in the queue. For one consumer. It ends when
/// the provider was shut down and everything was read.
public struct OutcomeStream: AsyncSequence, Sendable {
    /// One notification's outcome.
    public typealias Element = OutcomeRecord
    /// Reading never fails.
    public typealias Failure = Never

    let buffer: OutcomeBuffer

    /// Every iterator reads from the same stream: an outcome goes to one of them.
    public func makeAsyncIterator() -> Iterator {
        Iterator(buffer: self.buffer)
    }

    /// Reads the stream. Any task. Holds nothing: whoever leaves a loop finds the next outcome with a new iterator.
    public struct Iterator: AsyncIteratorProtocol {
        private let buffer: OutcomeBuffer

        init(buffer: OutcomeBuffer) {
            self.buffer = buffer
        }

        /// The next outcome; nil at the end, and when the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> OutcomeRecord? {
            await self.buffer.nextRecord()
        }

        /// The next outcome; nil at the end, and when the task was cancelled.
        public mutating func next() async -> OutcomeRecord? {
            await self.next(isolation: nil)
        }

        /// The outcomes that have come since the last call, at least one; none at the end, and when the task was
        /// cancelled. In place of ``next()``, for a reader that works on many at a time.
        package mutating func nextBatch() async -> [OutcomeRecord] {
            await self.buffer.next()
        }
    }
}

/// Outcomes between the loop that gives them and the task that reads them.
final class OutcomeBuffer: Sendable {
    private typealias Continuation = CheckedContinuation<[OutcomeRecord], Never>

    /// A call of `next()` that waits. Its number keeps the cancellation of one call from ending another.
    private struct Reader {
        var id: UInt64
        var continuation: Continuation
    }

    /// Outcomes that a reader has taken and reads one by one.
    private struct Opened {
        var records: [OutcomeRecord] = []
        var index = 0

        mutating func next() -> OutcomeRecord? {
            guard self.index < self.records.count else { return nil }
            defer { self.index += 1 }
            return self.records[self.index]
        }

        mutating func add(_ records: [OutcomeRecord]) {
            self.records.removeFirst(self.index)
            self.index = 0
            self.records += records
        }
    }

    private struct State {
        var records: [OutcomeRecord] = []
        var isFinished = false
        var reader: Reader?
        var lastReader: UInt64 = 0

        /// Takes the reader that waits, or only that one which has `id`.
        mutating func takeReader(_ id: UInt64? = nil) -> Continuation? {
            guard let reader = self.reader, id == nil || id == reader.id else { return nil }
            self.reader = nil
            return reader.continuation
        }
    }

    private let state = Mutex(State())
    private let opened = Mutex(Opened())
    /// Outcomes that nobody has read.
    private let unread = Atomic<Int>(0)
    /// Called, outside the lock, when the reader took some.
    private let wasRead: @Sendable () -> Void

    init(wasRead: @escaping @Sendable () -> Void) {
        self.wasRead = wasRead
    }

    var unreadCount: Int { self.unread.load(ordering: .relaxed) }

    /// Whether a call of `next()` waits.
    var hasReader: Bool { self.state.withLock { $0.reader != nil } }

    /// Adds outcomes, which a reader that waits gets with ``wakeReader()``.
    func append(_ records: [OutcomeRecord]) {
        guard !records.isEmpty else { return }
        self.state.withLock { state in
            state.records += records
            self.unread.store(state.records.count, ordering: .relaxed)
        }
    }

    /// Gives what there is to a reader that waits.
    func wakeReader() {
        let (reader, records) = self.state.withLock { state -> (Continuation?, [OutcomeRecord]) in
            guard !state.records.isEmpty, let reader = state.takeReader() else { return (nil, []) }
            return (reader, self.take(&state))
        }
        reader?.resume(returning: records)
    }

    func finish() {
        let (reader, records) = self.state.withLock { state -> (Continuation?, [OutcomeRecord]) in
            state.isFinished = true
            guard let reader = state.takeReader() else { return (nil, []) }
            return (reader, self.take(&state))
        }
        reader?.resume(returning: records)
    }

    private func take(_ state: inout State) -> [OutcomeRecord] {
        defer {
            state.records = []
            self.unread.store(0, ordering: .relaxed)
        }
        return state.records
    }

    /// The next outcome; nil at the end or when the task was cancelled.
    func nextRecord() async -> OutcomeRecord? {
        if let record = self.opened.withLock({ $0.next() }) { return record }
        let records = await self.next()
        return self.opened.withLock { opened in
            opened.add(records)
            return opened.next()
        }
    }

    /// What has come since the last call, at least one; none at the end or when the task was cancelled.
    func next() async -> [OutcomeRecord] {
        let id = self.state.withLock { state in
            state.lastReader += 1
            return state.lastReader
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let records = self.state.withLock { state -> [OutcomeRecord]? in
                    // A second reader gets nothing at once: it must not displace the first.
                    if state.records.isEmpty, !state.isFinished, !Task.isCancelled, state.reader == nil {
                        state.reader = Reader(id: id, continuation: continuation)
                        return nil
                    }
                    return self.take(&state)
                }
                guard let records else { return }
                continuation.resume(returning: records)
                if !records.isEmpty { self.wasRead() }
            }
        } onCancel: {
            let reader = self.state.withLock { $0.takeReader(id) }
            reader?.resume(returning: [])
        }
    }
}
