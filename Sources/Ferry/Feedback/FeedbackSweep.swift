public import FerryBinary

/// One reading of the feedback list: its tuples, in the order of the service.
///
/// The connection is made when the first tuple is asked for. The sequence ends only where the service ended the list:
/// by TLS close_notify, or by the end of the connection behind a whole tuple. A service with nothing to tell closes at
/// once, and the sequence is empty. Whatever else happens is thrown, as a ``FeedbackError``, behind all tuples that were
/// read before. ``report`` tells what was left out.
///
/// Reading clears the list, at Apple's, so leave no loop over it early: what was not taken is lost with the last
/// reference to the sweep, which closes the connection. When the task is cancelled, the connection is closed; what was
/// read by then is delivered, and then ``FeedbackError/Code/cancelled`` is thrown.
///
/// A token may come more than once, as the service had it; each is delivered.
public struct FeedbackSweep: AsyncSequence, Sendable {
    /// One entry of the list.
    public typealias Element = FeedbackTuple
    /// Why a list is not whole.
    public typealias Failure = FeedbackError

    private let owner: Owner

    init(_ driver: FeedbackDriver) {
        self.owner = Owner(driver)
    }

    /// How the reading ended, and what it left out; nil while it goes on. After an error the same as
    /// ``FeedbackError/report``. Any thread.
    public var report: FeedbackReport? {
        switch self.owner.driver.buffer.result {
        case .success(let report): report
        case .failure(let error): error.report
        case nil: nil
        }
    }

    /// How many tuples have waited to be taken at a time, at most.
    package var mostHeld: Int { self.owner.driver.buffer.mostHeld }

    /// Every iterator reads from the same list: a tuple goes to one of them.
    public func makeAsyncIterator() -> Iterator {
        Iterator(owner: self.owner)
    }

    /// Reads the list. Any task. Holds nothing: whoever leaves a loop finds the next tuple with a new iterator.
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

    /// Ends the reading with the last reference.
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
            // Who is cancelled already shall not connect.
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
