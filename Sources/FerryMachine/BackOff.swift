package import NIOCore

/// The waits between failed connections. Each is twice as long as the last, with jitter, up to a cap.
package struct BackOff: Sendable {
    /// The first wait.
    package let first: TimeAmount
    /// The longest wait.
    package let cap: TimeAmount
    /// The number of failures in a row.
    package private(set) var failures = 0

    /// - Parameter range: the first and the longest wait.
    package init(_ range: ClosedRange<Duration>) {
        self.first = TimeAmount(range.lowerBound)
        self.cap = TimeAmount(range.upperBound)
    }

    /// Notes a failure and returns the time to wait.
    package mutating func fail(using generator: inout some RandomNumberGenerator) -> TimeAmount {
        let doubled = Double(self.first.nanoseconds) * Double(UInt64(1) << UInt64(min(self.failures, 32)))
        self.failures += 1
        let wait = min(doubled, Double(self.cap.nanoseconds))
        return .nanoseconds(Int64(wait * Double.random(in: 0.75...1, using: &generator)))
    }

    package mutating func reset() {
        self.failures = 0
    }
}
