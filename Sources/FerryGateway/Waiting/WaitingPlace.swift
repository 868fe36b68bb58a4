/// The place up to which a reader has looked at the notifications without a final answer.
///
/// A ``JobTable`` has recent jobs by their numbers, and old ones in the order of their arrivals. A job may become old
/// between two pages. So the place has two numbers. Its text is `arrival-job`.
package struct WaitingPlace: Hashable, Sendable, CustomStringConvertible {
    /// The number of the last arrival in the table of old jobs.
    var arrival: UInt64 = 0
    /// The number of the last recent job; 0 before the first.
    var job: UInt64 = 0

    /// The place before all notifications.
    package init() {}

    /// Returns nil if the text has another form.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
        guard parts.count == 2, let arrival = parts[0], let job = parts[1], job < .max else { return nil }
        self.arrival = arrival
        self.job = job
    }

    package var description: String { "\(self.arrival)-\(self.job)" }
}
