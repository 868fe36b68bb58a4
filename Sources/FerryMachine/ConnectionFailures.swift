package import FerryCore
package import NIOCore

/// The connections that failed in a row: their number, the waits after them, and when to give up.
package struct ConnectionFailures: Sendable {
    private enum Series {
        case none
        /// The number of failures, and when the first of them failed or was started.
        case inARow(Int, since: NIODeadline)
    }

    /// What to do after a failure.
    package enum Verdict: Sendable, Equatable {
        case dialAgain(after: TimeAmount)
        /// Give up the queue: this many connections in a row failed since that time. The count starts again, with the first
        /// wait: new work must not wait for old failures.
        case giveUp(failures: Int, since: NIODeadline, wait: TimeAmount)
    }

    private let limit: RetryLimit
    private let retriesLastingErrors: Bool
    private var backOff: BackOff
    private var series = Series.none
    /// Whether a connection was ever of use.
    package private(set) var hasWorked = false

    /// - Parameters:
    ///   - waits: the first and the longest wait after a failure.
    ///   - retriesLastingErrors: whether errors that no retry can mend count like others.
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
    /// - Parameter start: when the failures began, if it is the first in a row.
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

    /// Notes that the peer refused the credentials; returns how long to wait. The queue is given up at once, so the count
    /// starts again: otherwise new work could be given up at its first failure.
    package mutating func refused(using generator: inout some RandomNumberGenerator) -> TimeAmount {
        self.series = .none
        return self.backOff.fail(using: &generator)
    }

    /// Whether the queue is given up because of an error, and without a retry.
    ///
    /// Once a connection was of use, peer and credentials are the right ones, and something on the path may have caused the
    /// error. Then it counts like any other.
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
