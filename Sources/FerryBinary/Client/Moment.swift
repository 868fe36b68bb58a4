package import NIOCore

/// The time of an input. The machine asks no clock.
package struct Moment: Sendable {
    /// Never jumps. Everything but expiration runs on it.
    package var monotonic: NIODeadline
    /// Seconds since the UNIX epoch, by the system's clock. Expiration runs on it.
    package var epochSeconds: UInt32

    package init(monotonic: NIODeadline, epochSeconds: UInt32) {
        self.monotonic = monotonic
        self.epochSeconds = epochSeconds
    }
}

extension TimeAmount {
    /// Durations beyond 292 years become 292 years.
    package init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self = .nanoseconds(overflow ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000)
    }
}
