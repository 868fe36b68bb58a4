/// Spreads notifications evenly over time.
struct Pacer {
    /// How far behind input may fall and be caught up with; a longer pause is not made up for.
    private static let slack: Duration = .milliseconds(100)

    private let interval: Duration
    private var next: ContinuousClock.Instant
    /// How many notifications go out together: as many as belong to 10 ms.
    let batch: Int

    init(perSecond rate: Double, now: ContinuousClock.Instant) {
        self.interval = .seconds(1 / rate)
        self.next = now
        self.batch = min(max(Int(rate / 100), 1), 4096)
    }

    /// When `count` notifications may go out that are there now.
    mutating func time(for count: Int, now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let time = max(self.next, now - Self.slack)
        self.next = time + self.interval * count
        return time
    }
}
