/// Spreads notifications evenly over time.
struct Pacer {
    /// The longest delay that is caught up. The rest of a longer pause is not made up for.
    private static let slack: Duration = .milliseconds(100)

    private let interval: Duration
    private var next: ContinuousClock.Instant
    /// The number of notifications that go out together: those of 10 ms, but 1 to 4096.
    let batch: Int

    init(perSecond rate: Double, now: ContinuousClock.Instant) {
        self.interval = .seconds(1 / rate)
        self.next = now
        self.batch = min(max(Int(rate / 100), 1), 4096)
    }

    /// Returns the time at which the next `count` notifications may go out.
    mutating func time(for count: Int, now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let time = max(self.next, now - Self.slack)
        self.next = time + self.interval * count
        return time
    }
}
