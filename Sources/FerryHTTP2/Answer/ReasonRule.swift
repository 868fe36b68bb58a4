package import FerryCore

/// One row of Apple's table of error strings: the status of a reason, and the reaction to it.
///
/// The rows are those of ``Reason/table``. The meaning of a reason is its `explanation`.
///
/// Source: "Handling notification responses from APNs" (Apple): the table, and the two paragraphs below it.
package struct ReasonRule: Hashable, Sendable {
    package let reason: Reason
    /// The status that comes with the reason.
    package let status: HTTPStatus
    package let retry: RetryRule
    /// Whether APNs counts the reason against the connection: "APNs disconnects a provider connection with too many
    /// error conditions. APNs disconnects sooner with certain error conditions, such as BadDeviceToken. Note that
    /// status code 410 isn't considered an error condition" (Apple).
    package let countsAgainstConnection: Bool

    private init?(_ row: ReasonRow) {
        guard case .http2(let status, let retry) = row.occurrence else { return nil }
        self.reason = row.reason
        self.status = HTTPStatus(rawValue: status)
        self.retry = retry
        self.countsAgainstConnection = self.status == .forbidden || row.refusesToken
    }

    /// Returns the row of a reason; nil when it is not in Apple's table.
    package static func of(_ reason: Reason) -> ReasonRule? { reason.row.flatMap { ReasonRule($0) } }

    /// Apple's complete table, in its order.
    package static let all = Reason.table.compactMap { ReasonRule($0) }
}
