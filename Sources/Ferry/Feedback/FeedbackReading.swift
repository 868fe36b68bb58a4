package import FerryBinary

/// One reading of the feedback list for a caller without tasks. Any thread.
///
/// When its last reference is dropped, the connection closes and tuples that were not taken are lost.
package final class FeedbackReading: Sendable {
    private let driver: FeedbackDriver

    init(_ driver: FeedbackDriver) {
        self.driver = driver
        driver.start()
    }

    deinit { if self.driver.buffer.result == nil { self.driver.cancel() } }

    /// Returns the next tuple, or nil in a success at the end of the list. Nil if neither is there yet.
    package func next() -> Result<FeedbackTuple?, FeedbackError>? {
        self.driver.buffer.takeNow { self.driver.resume() }
    }
}
