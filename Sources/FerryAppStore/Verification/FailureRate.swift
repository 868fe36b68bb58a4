/// The number of certificate chains that failed in the present second. A failure costs 2 ms, and anybody can cause one,
/// so the number is limited. Chains that are remembered do not need the check, and are not limited.
struct FailureRate {
    /// The largest number of failures in a second. They cost a fifth of a core.
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
