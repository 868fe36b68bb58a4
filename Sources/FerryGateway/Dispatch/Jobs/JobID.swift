package import FerryCore

/// The number of a job, which brings one notification to APNs. No two notifications of one process, or of one store,
/// have the same number.
package struct JobID: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The `apns-id` that the gateway gives the notification: the same at each attempt, and for a letter that is sent
    /// again.
    ///
    /// - Parameter node: the random number that ``Jobs`` has.
    func apnsID(node: UInt64) -> APNSID { APNSID(node: node, number: self.rawValue) }
}

/// The result of a job.
package enum JobFate: Hashable, Sendable {
    /// The job has no final answer.
    case running
    case accepted
    /// APNs, or the gateway itself, refused the notification. The status is for the client.
    case rejected(BinaryStatus)
}
