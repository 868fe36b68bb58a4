internal import NIOCore

/// At most 10 new connections a second: more "looks like an attack to Apple" (Binary Provider API).
struct DialLimiter {
    static let perSecond: Int64 = 10

    private var tokens = Self.perSecond
    private var filledAt: NIODeadline?

    /// Takes a permission; or says when there will be one.
    mutating func take(now: NIODeadline) -> NIODeadline? {
        let filledAt = self.filledAt ?? now
        let interval = 1_000_000_000 / Self.perSecond
        let gained = (now - filledAt).nanoseconds / interval
        self.tokens = min(self.tokens + gained, Self.perSecond)
        self.filledAt = self.tokens == Self.perSecond ? now : filledAt + .nanoseconds(gained * interval)
        guard self.tokens > 0 else { return (self.filledAt ?? now) + .nanoseconds(interval) }
        self.tokens -= 1
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
