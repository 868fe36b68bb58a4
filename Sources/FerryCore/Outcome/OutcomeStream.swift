/// The outcomes of a provider that was made with ``OutcomeDelivery/stream``, in the order they were given.
///
/// Lossless: an unread outcome holds its notification's place in the queue. The stream ends when the provider was shut
/// down and every outcome was read.
///
/// For one consumer: each outcome goes to one reader only. A second one that reads while the first waits gets nil at
/// once, so its loop ends, and the provider logs an error.
public struct OutcomeStream: AsyncSequence, Sendable {
    /// The outcome of one notification.
    public typealias Element = OutcomeRecord
    /// Reading never fails.
    public typealias Failure = Never

    private let buffer: OutcomeBuffer
    /// Whether a cancelled task reads on.
    private let ignoresCancellation: Bool

    package init(buffer: OutcomeBuffer, ignoresCancellation: Bool = false) {
        self.buffer = buffer
        self.ignoresCancellation = ignoresCancellation
    }

    /// The same stream, for a reader that gets every outcome even when its task is cancelled. The end of the provider bounds
    /// it.
    package var untilItsEnd: OutcomeStream { OutcomeStream(buffer: self.buffer, ignoresCancellation: true) }

    /// Returns an iterator. All iterators read from the same stream: each outcome goes to one of them.
    public func makeAsyncIterator() -> Iterator {
        Iterator(buffer: self.buffer, ignoresCancellation: self.ignoresCancellation)
    }

    /// An iterator over the stream. Any task. It holds no outcomes: after you leave a loop, a new iterator continues
    /// with the next outcome.
    public struct Iterator: AsyncIteratorProtocol {
        private let buffer: OutcomeBuffer
        private let ignoresCancellation: Bool

        init(buffer: OutcomeBuffer, ignoresCancellation: Bool) {
            self.buffer = buffer
            self.ignoresCancellation = ignoresCancellation
        }

        /// Returns the next outcome; nil at the end, if the task was cancelled, or while another task waits for one.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> OutcomeRecord? {
            await self.buffer.nextRecord(ignoresCancellation: self.ignoresCancellation)
        }

        /// Returns the next outcome; nil at the end, if the task was cancelled, or while another task waits for one.
        public mutating func next() async -> OutcomeRecord? {
            await self.next(isolation: nil)
        }

        /// Returns the outcomes since the last call, at least one; an empty array at the end or if the task was
        /// cancelled. Replaces ``next()`` for a reader that handles many at a time.
        package mutating func nextBatch() async -> [OutcomeRecord] {
            await self.buffer.next()
        }
    }
}
