internal import DequeModule
internal import NIOCore

/// At most 10 new connections a second: more "looks like an attack to Apple" (Binary Provider API).
struct DialLimiter {
    static let perSecond = 10

    /// When the last ones were made, oldest first.
    private var dials: Deque<NIODeadline> = []

    /// Takes a permission; or says when there will be one.
    mutating func take(now: NIODeadline) -> NIODeadline? {
        if self.dials.count >= Self.perSecond, let oldest = self.dials.first {
            let later = oldest + .seconds(1)
            guard later <= now else { return later }
            self.dials.removeFirst()
        }
        self.dials.append(now)
        return nil
    }
}

/// The waits between failed connections: doubled each time, with jitter, up to a cap.
struct BackOff {
    let first: TimeAmount
    let cap: TimeAmount
    private(set) var failures = 0

    init(_ range: ClosedRange<Duration>) {
        self.first = TimeAmount(range.lowerBound)
        self.cap = TimeAmount(range.upperBound)
    }

    /// Notes a failure; returns how long to wait.
    mutating func fail(using generator: inout some RandomNumberGenerator) -> TimeAmount {
        let doubled = Double(self.first.nanoseconds) * Double(UInt64(1) << UInt64(min(self.failures, 32)))
        self.failures += 1
        let wait = min(doubled, Double(self.cap.nanoseconds))
        return .nanoseconds(Int64(wait * Double.random(in: 0.75...1, using: &generator)))
    }

    mutating func reset() {
        self.failures = 0
    }
}
