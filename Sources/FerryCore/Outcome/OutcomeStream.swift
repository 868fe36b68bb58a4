/// The outcomes of a provider that was made with ``OutcomeDelivery/stream``, in the order they were given.
///
/// Lossless: an outcome that is not read holds its notification's place in the queue. For one consumer. It ends when
/// the provider was shut down and everything was read.
public struct OutcomeStream: AsyncSequence, Sendable {
    /// One notification's outcome.
    public typealias Element = OutcomeRecord
    /// Reading never fails.
    public typealias Failure = Never

    private let buffer: OutcomeBuffer

    package init(buffer: OutcomeBuffer) {
        self.buffer = buffer
    }

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
