package import FerryCore
package import NIOCore

/// The connections that failed in a row: their number, the waits after them, and the decision to give up.
package struct ConnectionFailures: Sendable {
    private enum Series {
        case none
        /// The number of failures, and the time at which they began.
        case inARow(Int, since: NIODeadline)
    }

    /// The decision after a failure.
    package enum Verdict: Sendable, Equatable {
        case dialAgain(after: TimeAmount)
        /// Give up the queue, because this many connections in a row have failed since that time. The count starts
        /// again with the first wait, because new work must not wait for old failures.
        case giveUp(failures: Int, since: NIODeadline, wait: TimeAmount)
    }

    private let limit: RetryLimit
    private let retriesLastingErrors: Bool
    private var backOff: BackOff
    private var series = Series.none
    /// Whether any connection was of use.
    package private(set) var hasWorked = false

    /// - Parameters:
    ///   - waits: the first and the longest wait after a failure.
    ///   - retriesLastingErrors: whether errors that no retry can cure count like others.
    package init(limit: RetryLimit, waits: ClosedRange<Duration>, retriesLastingErrors: Bool) {
        self.limit = limit
        self.backOff = BackOff(waits)
        self.retriesLastingErrors = retriesLastingErrors
    }

    package var firstWait: TimeAmount { self.backOff.first }

    package var longestWait: TimeAmount { self.backOff.cap }

    /// Whether the last connection failed or was refused.
    package var hasFailed: Bool { self.backOff.failures > 0 }

    /// Notes a connection that failed or was of no use.
    ///
    /// - Parameter start: the time at which the failures began, if this is the first in a row.
    package mutating func failed(
        since start: NIODeadline,
        now: NIODeadline,
        using generator: inout some RandomNumberGenerator
    ) -> Verdict {
        let (count, first) =
            switch self.series {
            case .none: (1, start)
            case .inARow(let count, let since): (count + 1, since)
            }
        let wait = self.backOff.fail(using: &generator)
        guard self.limit.isReached(count, since: first, now: now) else {
            self.series = .inARow(count, since: first)
            return .dialAgain(after: self.limit.bounded(wait, since: first, now: now))
        }
        self.reset()
        return .giveUp(failures: count, since: first, wait: self.backOff.fail(using: &generator))
    }

    /// Notes that the peer refused the credentials, and returns the time to wait. The queue is given up at once, so the
    /// count starts again. Otherwise new work could be given up at its first failure.
    package mutating func refused(using generator: inout some RandomNumberGenerator) -> TimeAmount {
        self.series = .none
        return self.backOff.fail(using: &generator)
    }

    /// Whether an error gives up the queue without a retry.
    ///
    /// Once a connection was of use, the peer and the credentials are right, and the path may have caused the error.
    /// Then the error counts like any other.
    package func isFinal(_ error: ProviderError) -> Bool {
        error.isLasting && !self.retriesLastingErrors && !self.hasWorked
    }

    /// Notes that a connection was of use.
    package mutating func worked() {
        self.hasWorked = true
        self.reset()
    }

    /// Notes that the next failure begins a new series with the first wait.
    package mutating func reset() {
        self.series = .none
        self.backOff.reset()
    }
}
