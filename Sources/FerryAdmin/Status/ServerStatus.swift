/// The members that the status of every server has.
package protocol ServerStatus: Codable, Sendable {
    /// The version of Ferry.
    var ferry: String { get }
    /// The time of the status, in UNIX seconds.
    var now: Int { get }
    var startedAt: Int { get }
    var condition: Condition { get }
    /// The troubles of the service, each in one sentence, the worst first. The list is empty if all is well.
    var troubles: [Condition] { get }
    var ready: Health { get }
    var delivering: Health { get }
    var certificates: [CertificateStatus] { get }
    /// The last alarms, the oldest first.
    var alarms: [AlarmLine] { get }
}
