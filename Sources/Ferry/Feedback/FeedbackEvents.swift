public import FerryBinary

/// An event of the repeated readings of the feedback list.
@nonexhaustive
public enum FeedbackEvent: Sendable {
    /// A device no longer has the app.
    case tuple(FeedbackTuple)
    /// A reading reached the end of the list. All its tuples were delivered before.
    case completed(FeedbackReport)
    /// A reading failed. All tuples it had read were delivered before. The next reading comes after the interval.
    case failed(FeedbackError)
}

/// The events of the feedback list, read again and again: ``FeedbackReader/events()``.
///
/// A failed reading is an event; the sequence continues. The next reading begins ``FeedbackConfiguration/interval``
/// after the end of the last, so two readings never overlap. While no task takes events, nothing is read and no
/// interval runs.
///
/// The sequence ends after ``stop()`` or when the task is cancelled. On cancellation a running reading delivers the
/// tuples that it has read, then ends with ``FeedbackError/Code/cancelled``.
public struct FeedbackEvents: AsyncSequence, Sendable {
    /// A tuple, or the end of a reading.
    public typealias Element = FeedbackEvent
    /// The sequence never fails, because a failed reading is an event.
    public typealias Failure = Never

    let reader: FeedbackReader
    let interval: Duration?
    private let wait = FeedbackWait()

    init(reader: FeedbackReader, interval: Duration?) {
        self.reader = reader
        self.interval = interval
    }

    /// Starts no further reading. A running reading continues to its end, and its last event ends the sequence. Any
    /// thread.
    public func stop() {
        self.wait.stop()
    }

    /// Makes an iterator. Make only one: each iterator reads the list separately.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: self.reader, interval: self.interval, wait: self.wait)
    }

    /// Reads the list again and again.
    ///
    /// If the iterator is dropped during a reading, the connection closes, and tuples that were not taken are lost. Use
    /// ``FeedbackEvents/stop()`` to leave the loop without loss.
    public struct Iterator: AsyncIteratorProtocol {
        private let reader: FeedbackReader
        private let interval: Duration?
        private let wait: FeedbackWait
        private var sweep: FeedbackSweep?
        private var isFirst = true

        fileprivate init(reader: FeedbackReader, interval: Duration?, wait: FeedbackWait) {
            self.reader = reader
            self.interval = interval
            self.wait = wait
        }

        /// The next event; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> FeedbackEvent? {
            if self.sweep == nil {
                guard await self.mayBegin() else { return nil }
                self.isFirst = false
                self.sweep = self.reader.sweep()
            }
            guard let sweep = self.sweep else { return nil }
            do throws(FeedbackError) {
                var tuples = sweep.makeAsyncIterator()
                if let tuple = try await tuples.next() { return .tuple(tuple) }
                self.sweep = nil
                return .completed(sweep.report ?? FeedbackReport())
            } catch {
                self.sweep = nil
                return .failed(error)
            }
        }

        /// The next event; nil at the end.
        public mutating func next() async -> FeedbackEvent? {
            await self.next(isolation: nil)
        }

        /// Waits for the time of the next reading. Returns false if there will be no further reading.
        private func mayBegin() async -> Bool {
            if !self.isFirst {
                guard let interval, interval > .zero else { return false }
                await self.wait.wait(for: interval)
            }
            return !Task.isCancelled && !self.wait.isStopped
        }
    }
}
