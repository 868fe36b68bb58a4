/// What happened at a ``SimulatedAPNs`` since it started.
public struct APNsCounts: Hashable, Sendable {
    /// Connections that were accepted.
    public var connections = 0
    /// Connections whose TLS handshake succeeded.
    public var handshakes = 0
    /// Connections that failed before the end of their handshake.
    public var handshakeFailures = 0
    /// Requests that were accepted: recorded, and answered with 200 if nothing came in between.
    public var accepted = 0
    /// Requests that were answered with another status.
    public var rejected = 0
    /// Requests that a rule left without an answer of any status: refused, reset or kept in silence.
    public var unanswered = 0
    /// GOAWAYs that rules sent.
    public var goAways = 0
    /// Connections that broke the protocol.
    public var violations = 0
}

extension APNsCounts: ServiceCounts {}

extension Tally<APNsCounts> {
    /// Adds what a connection counted since `earlier`.
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
