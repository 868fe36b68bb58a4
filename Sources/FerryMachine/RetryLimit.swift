package import NIOCore

/// When connections that fail in a row are too many, or have failed for too long.
package struct RetryLimit: Sendable {
    /// How many failures are allowed. 0: any number.
    private let count: Int
    /// How long they may go on. 0: for ever.
    private let time: TimeAmount

    package init(count: Int, time: Duration) {
        self.count = count
        self.time = TimeAmount(time)
    }

    /// - Parameters:
    ///   - failures: how many there were in a row, the present one included.
    ///   - start: when the first of them began.
    package func isReached(_ failures: Int, since start: NIODeadline, now: NIODeadline) -> Bool {
        self.count > 0 && failures > self.count || self.time > .zero && now >= start + self.time
    }

    /// How long to wait for the next attempt: not beyond the end of the time, at which the last is made.
    package func bounded(_ wait: TimeAmount, since start: NIODeadline, now: NIODeadline) -> TimeAmount {
        guard self.time > .zero else { return wait }
        return min(wait, max(start + self.time - now, .zero))
    }
}
