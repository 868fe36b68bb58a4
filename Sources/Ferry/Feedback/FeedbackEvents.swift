public import FerryBinary

/// What happens while the feedback list is read again and again.
@nonexhaustive
public enum FeedbackEvent: Sendable {
    /// The app is gone from a device.
    case tuple(FeedbackTuple)
    /// A reading came to the end of the list. Its tuples have all been delivered.
    case completed(FeedbackReport)
    /// A reading failed. What it had read has all been delivered. The next comes after the interval.
    case failed(FeedbackError)
}

/// The feedback list, read again and again: ``FeedbackReader/events()``.
///
/// A failed reading is an event and not the end. The next one begins ``FeedbackConfiguration/interval`` after the end of
/// the last, so that two never overlap. While nobody takes tuples nothing is read, and no interval begins.
///
/// It ends after ``stop()``, or when the task is cancelled: a reading that is under way ends then with
/// ``FeedbackError/Code/cancelled``, behind what it had read.
public struct FeedbackEvents: AsyncSequence, Sendable {
    /// A tuple, or the end of a reading.
    public typealias Element = FeedbackEvent
    /// A failure is an event.
    public typealias Failure = Never

    let reader: FeedbackReader
    let interval: Duration
    private let wait = FeedbackWait()

    init(reader: FeedbackReader, interval: Duration) {
        self.reader = reader
        self.interval = interval
    }

    /// Begins no further reading. One that is under way is read to its end, whose event is the last. Any thread.
    public func stop() {
        self.wait.stop()
    }

    /// Make one: each iterator would read on its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: self.reader, interval: self.interval, wait: self.wait)
    }

    /// Reads the list again and again. Dropped in the middle of a reading it closes the connection, and what was not
    /// taken is lost: leave the loop by way of ``FeedbackEvents/stop()``.
    public struct Iterator: AsyncIteratorProtocol {
        private let reader: FeedbackReader
        private let interval: Duration
        private let wait: FeedbackWait
        private var sweep: FeedbackSweep?
        private var isFirst = true

        fileprivate init(reader: FeedbackReader, interval: Duration, wait: FeedbackWait) {
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

        /// Waits for the time of the next reading; false when there is none.
        private func mayBegin() async -> Bool {
            if !self.isFirst {
                guard self.interval > .zero else { return false }
                await self.wait.wait(for: self.interval)
            }
            return !Task.isCancelled && !self.wait.isStopped
        }
    }
}
