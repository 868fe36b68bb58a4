/// The number of certificate chains that failed in the present second. A failed check costs 2 ms, and anybody can
/// cause it, so the number is limited. Remembered chains need no check, so the limit does not apply to them.
struct FailureRate {
    /// The largest number of failures in a second. This number costs a fifth of a core.
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
