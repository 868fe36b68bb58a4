package import NIOCore

/// A limit for connections that fail in a row. It bounds their number and the time since the first failure.
package struct RetryLimit: Sendable {
    /// The number of allowed failures; nil for any number.
    private let count: Int?
    /// The time for which connections may keep failing; nil for ever.
    private let time: TimeAmount?

    package init(count: Int?, time: Duration?) {
        self.count = count
        self.time = time.map { TimeAmount($0) }
    }

    /// - Parameters:
    ///   - failures: the number of failures in a row, the present one included.
    ///   - start: the time at which the first failure began.
    package func isReached(_ failures: Int, since start: NIODeadline, now: NIODeadline) -> Bool {
        let isCountReached = self.count.map { failures > $0 } ?? false
        let isTimeReached = self.time.map { now >= start + $0 } ?? false
        return isCountReached || isTimeReached
    }

    /// Returns the wait before the next attempt. It never exceeds the allowed time, because the last attempt is made at
    /// its end.
    package func bounded(_ wait: TimeAmount, since start: NIODeadline, now: NIODeadline) -> TimeAmount {
        guard let time else { return wait }
        return min(wait, max(start + time - now, .zero))
    }
}
