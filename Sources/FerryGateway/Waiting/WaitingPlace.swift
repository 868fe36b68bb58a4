/// The place up to which a reader has seen the notifications without a final answer.
///
/// A ``JobTable`` has recent jobs in the order of their numbers, and old jobs in the order of their arrivals. A job may
/// become old between two pages. So the place has a number for each order. Its text is `arrival-job`, or
/// `arrival-job-shard` in a shard other than 0.
package struct WaitingPlace: Hashable, Sendable, CustomStringConvertible {
    /// The number of the last arrival that the reader has looked at, in the table of old jobs.
    var arrival: UInt64 = 0
    /// The number of the last recent job that the reader has looked at; 0 before the first job.
    var job: UInt64 = 0
    /// The shard; 0 without shards.
    package private(set) var shard = 0

    /// The place before all notifications.
    package init() {}

    /// The place in a shard.
    package init(_ place: WaitingPlace = WaitingPlace(), shard: Int) {
        self = place
        self.shard = shard
    }

    /// Returns nil if the text has another form.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
        guard 2...3 ~= parts.count, let arrival = parts[0], let job = parts[1], job < .max,
            let shard = parts.count == 3 ? parts[2] : 0, shard <= 1 << 16
        else { return nil }
        self.arrival = arrival
        self.job = job
        self.shard = Int(shard)
    }

    package var description: String { "\(self.arrival)-\(self.job)\(self.shard == 0 ? "" : "-\(self.shard)")" }
}
