/// The counts of a ``SimulatedAPNs`` since it started.
public struct APNsCounts: Hashable, Sendable {
    /// Connections that were accepted.
    public var connections = 0
    /// Connections whose TLS handshake succeeded.
    public var handshakes = 0
    /// Connections that failed before their TLS handshake ended.
    public var handshakeFailures = 0
    /// Requests that were accepted and recorded. The answer is 200, but the connection may end before it is sent.
    public var accepted = 0
    /// Requests that were answered with a status other than 200.
    public var rejected = 0
    /// Requests that got no status because of a rule: their stream was refused, reset or left silent.
    public var unanswered = 0
    /// GOAWAYs that rules sent.
    public var goAways = 0
    /// Connections that broke the protocol.
    public var violations = 0
}

extension APNsCounts: ServiceCounts {}

extension Tally<APNsCounts> {
    /// Adds the difference between two counts of a connection.
    func add(_ counts: APNsMachine.Counts, since earlier: APNsMachine.Counts) {
        self.update { total in
            total.accepted += counts.accepted - earlier.accepted
            total.rejected += counts.rejected - earlier.rejected
            total.unanswered += counts.unanswered - earlier.unanswered
            total.goAways += counts.goAways - earlier.goAways
            total.violations += counts.violations - earlier.violations
        }
    }
}
