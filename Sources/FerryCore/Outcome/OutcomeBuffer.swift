internal import Synchronization

/// Outcomes between the loop that gives them and the task that reads them.
package final class OutcomeBuffer: Sendable {
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

    package init(wasRead: @escaping @Sendable () -> Void) {
        self.wasRead = wasRead
    }

    /// One that has ended.
    package static var empty: OutcomeBuffer {
        let buffer = OutcomeBuffer {}
        buffer.finish()
        return buffer
    }

    package var unreadCount: Int { self.unread.load(ordering: .relaxed) }

    /// Whether a call of `next()` waits.
    package var hasReader: Bool { self.state.withLock { $0.reader != nil } }

    /// Adds outcomes, which a reader that waits gets with ``wakeReader()``.
    package func append(_ records: [OutcomeRecord]) {
        guard !records.isEmpty else { return }
        self.state.withLock { state in
            state.records += records
            self.unread.store(state.records.count, ordering: .relaxed)
        }
    }

    /// Gives what there is to a reader that waits.
    package func wakeReader() {
        let (reader, records) = self.state.withLock { state -> (Continuation?, [OutcomeRecord]) in
            guard !state.records.isEmpty, let reader = state.takeReader() else { return (nil, []) }
            return (reader, self.take(&state))
        }
        reader?.resume(returning: records)
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

    /// The next outcome; nil at the end or when the task was cancelled.
    package func nextRecord() async -> OutcomeRecord? {
        if let record = self.opened.withLock({ $0.next() }) { return record }
        let records = await self.next()
        return self.opened.withLock { opened in
            opened.add(records)
            return opened.next()
        }
    }

    /// What has come since the last call, at least one; none at the end or when the task was cancelled.
    package func next() async -> [OutcomeRecord] {
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
