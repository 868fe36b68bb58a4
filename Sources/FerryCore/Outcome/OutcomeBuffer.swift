internal import Synchronization

/// Outcomes between the event loop that gives them and the task that reads them.
package final class OutcomeBuffer: Sendable {
    private typealias Continuation = CheckedContinuation<[OutcomeRecord], Never>

    /// A waiting call of `next()`. Without its number, the cancellation of one call could end another.
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
        var sawSecondReader = false

        /// Removes and returns the waiting reader; with `id`, only the reader that has it.
        mutating func takeReader(_ id: UInt64? = nil) -> Continuation? {
            guard let reader = self.reader, id == nil || id == reader.id else { return nil }
            self.reader = nil
            return reader.continuation
        }
    }

    private let state = Locked(State())
    private let opened = Locked(Opened())
    /// The number of outcomes that were not read yet.
    private let unread = Atomic<Int>(0)
    /// Called outside the lock after the reader took outcomes.
    private let wasRead: @Sendable () -> Void
    /// Called outside the lock when a second reader came, the first time.
    private let onSecondReader: @Sendable () -> Void

    package init(onSecondReader: @escaping @Sendable () -> Void = {}, wasRead: @escaping @Sendable () -> Void) {
        self.onSecondReader = onSecondReader
        self.wasRead = wasRead
    }

    /// A buffer that has ended.
    package static var empty: OutcomeBuffer {
        let buffer = OutcomeBuffer {}
        buffer.finish()
        return buffer
    }

    package var unreadCount: Int { self.unread.load(ordering: .relaxed) }

    /// Whether a call of `next()` waits.
    package var hasReader: Bool { self.state.withLock { $0.reader != nil } }

    /// Adds outcomes. A waiting reader gets them with ``wakeReader()``.
    package func append(_ records: [OutcomeRecord]) {
        guard !records.isEmpty else { return }
        self.state.withLock { state in
            state.records += records
            self.unread.store(state.records.count, ordering: .relaxed)
        }
    }

    /// Gives the outcomes to a waiting reader. Returns their number.
    @discardableResult
    package func wakeReader() -> Int {
        let (reader, records) = self.state.withLock { state -> (Continuation?, [OutcomeRecord]) in
            guard !state.records.isEmpty, let reader = state.takeReader() else { return (nil, []) }
            return (reader, self.take(&state))
        }
        reader?.resume(returning: records)
        return records.count
    }

    package func finish() {
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

    /// Returns the next outcome; nil at the end or if the task was cancelled.
    ///
    /// - Parameter ignoresCancellation: a cancelled task gets the next outcome, too.
    package func nextRecord(ignoresCancellation: Bool = false) async -> OutcomeRecord? {
        if let record = self.opened.withLock({ $0.next() }) { return record }
        let records =
            ignoresCancellation ? await self.wait(as: self.nextReader(), isCancellable: false) : await self.next()
        return self.opened.withLock { opened in
            opened.add(records)
            return opened.next()
        }
    }

    /// Returns the outcomes since the last call, at least one; an empty array at the end or if the task was cancelled.
    package func next() async -> [OutcomeRecord] {
        let id = self.nextReader()
        return await withTaskCancellationHandler {
            await self.wait(as: id, isCancellable: true)
        } onCancel: {
            let reader = self.state.withLock { $0.takeReader(id) }
            reader?.resume(returning: [])
        }
    }

    private func nextReader() -> UInt64 {
        self.state.withLock { state in
            state.lastReader += 1
            return state.lastReader
        }
    }

    private func wait(as id: UInt64, isCancellable: Bool) async -> [OutcomeRecord] {
        await withCheckedContinuation { continuation in
            var isNews = false
            let records = self.state.withLock { state -> [OutcomeRecord]? in
                let isCancelled = isCancellable && Task.isCancelled
                guard state.records.isEmpty, !state.isFinished, !isCancelled else { return self.take(&state) }
                // A second reader gets an empty array at once. If it displaced the first, that would wait for ever.
                guard state.reader == nil else {
                    isNews = !state.sawSecondReader
                    state.sawSecondReader = true
                    return []
                }
                state.reader = Reader(id: id, continuation: continuation)
                return nil
            }
            if isNews { self.onSecondReader() }
            guard let records else { return }
            continuation.resume(returning: records)
            if !records.isEmpty { self.wasRead() }
        }
    }
}
