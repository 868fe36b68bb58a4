public import FerryBinary

/// One reading of the feedback list: the tuples in the order of the service.
///
/// The first call of `next` connects. The sequence ends only where the service ended the list: by TLS close_notify, or
/// by the end of the connection after a whole tuple. A service with an empty list closes at once; the sequence is then
/// empty. Every other end throws a ``FeedbackError``, after all tuples that were read before it. ``report`` counts the
/// tuples that were left out.
///
/// Do not leave the loop early: at Apple's service reading clears the list. When the last reference to the sweep is
/// dropped, the connection closes and tuples that were not taken are lost. If the task is cancelled, the connection
/// closes, tuples that were read are delivered, and then ``FeedbackError/Code/cancelled`` is thrown.
///
/// A device token may appear more than once, as in the service's list. Each tuple is delivered.
public struct FeedbackSweep: AsyncSequence, Sendable {
    /// One entry of the list.
    public typealias Element = FeedbackTuple
    /// The reason why a reading stopped before the end of the list.
    public typealias Failure = FeedbackError

    private let owner: Owner

    init(_ driver: FeedbackDriver) {
        self.owner = Owner(driver)
    }

    /// The result of the reading: how it ended and how many tuples it left out. Nil while it runs. After an error, the
    /// same as ``FeedbackError/report``. Any thread.
    public var report: FeedbackReport? {
        switch self.owner.driver.buffer.result {
        case .success(let report): report
        case .failure(let error): error.report
        case nil: nil
        }
    }

    /// The largest number of tuples that waited at the same time.
    package var mostHeld: Int { self.owner.driver.buffer.mostHeld }

    /// Makes an iterator. All iterators share one list: each tuple goes to one of them.
    public func makeAsyncIterator() -> Iterator {
        Iterator(owner: self.owner)
    }

    /// Reads the list. Any task. Stores no tuples, so a new iterator continues where the last one stopped.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let owner: Owner

        /// The next tuple; nil at the end of the list.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(FeedbackError) -> FeedbackTuple? {
            try await self.owner.next().get()
        }

        /// The next tuple; nil at the end of the list.
        public mutating func next() async throws(FeedbackError) -> FeedbackTuple? {
            try await self.next(isolation: nil)
        }
    }

    /// Cancels the reading when the last reference is dropped.
    fileprivate final class Owner: Sendable {
        let driver: FeedbackDriver

        init(_ driver: FeedbackDriver) {
            self.driver = driver
        }

        deinit {
            if self.driver.buffer.result == nil { self.driver.cancel() }
        }

        func next() async -> FeedbackBuffer.Step {
            let driver = self.driver
            // A task that is already cancelled must not connect.
            if Task.isCancelled { driver.cancel() }
            driver.start()
            return await withTaskCancellationHandler {
                await driver.buffer.next { driver.resume() }
            } onCancel: {
                driver.cancel()
            }
        }
    }
}
