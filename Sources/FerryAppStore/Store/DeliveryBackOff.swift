/// When a delivery that failed is tried again: after 1 s, then after twice the time before, at most an hour, for 3 days and at
/// least 24 attempts.
enum DeliveryBackOff {
    static let first: Duration = .seconds(1)
    static let longest: Duration = .seconds(3600)
    /// A delivery that has failed for this time is set aside.
    static let limit: Duration = .seconds(3 * 86_400)
    /// But not before so many attempts: the time is that of the wall clock, which somebody may set. They take 13 hours.
    static let fewest = 24

    /// Returns the time to wait after the failure of attempt number `attempt`, which counts from 1; nil when the delivery is
    /// set aside.
    ///
    /// - Parameter failing: the time since the first failure.
    static func delay(afterAttempt attempt: Int, failing: Duration) -> Duration? {
        guard failing < self.limit || attempt < self.fewest else { return nil }
        let doublings = min(max(attempt - 1, 0), 12)
        return min(self.first * (1 << doublings), self.longest)
    }
}
