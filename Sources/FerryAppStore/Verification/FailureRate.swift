/// How many chains of certificates failed lately. A failure costs 2 ms, and anybody can cause one, so only so many are looked
/// at in a second. Chains that are remembered are not concerned.
struct FailureRate {
    /// A fifth of a core.
    static let perSecond = 100

    private var second: ContinuousClock.Instant?
    private var count = 0

    func permits(at now: ContinuousClock.Instant) -> Bool {
        guard let second, now - second < .seconds(1) else { return true }
        return self.count < Self.perSecond
    }

    mutating func add(at now: ContinuousClock.Instant) {
        if let second, now - second < .seconds(1) {
            self.count += 1
        } else {
            (self.second, self.count) = (now, 1)
        }
    }
}
