/// The waits between attempts of a delivery that failed. The first wait is 1 s, and each later wait is twice as long,
/// up to an hour. The attempts end after 3 days, but there are at least 24 attempts.
enum DeliveryBackOff {
    static let first: Duration = .seconds(1)
    static let longest: Duration = .seconds(3600)
    /// The time after which a failing delivery is set aside, if it has had ``fewest`` attempts.
    static let limit: Duration = .seconds(3 * 86_400)
    /// The smallest number of attempts before a delivery is set aside. 24 attempts take 12 hours. Without this
    /// minimum, a change of the wall clock could end a delivery at once.
    static let fewest = 24

    /// Returns the wait after a failed attempt; nil if the delivery is set aside.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt, from 1.
    ///   - failing: the time since the first failure.
    static func delay(afterAttempt attempt: Int, failing: Duration) -> Duration? {
        guard failing < self.limit || attempt < self.fewest else { return nil }
        let doublings = min(max(attempt - 1, 0), 12)
        return min(self.first * (1 << doublings), self.longest)
    }
}
