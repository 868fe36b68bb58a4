/// What happened at a ``SimulatedGateway`` since it started.
public struct GatewayCounts: Hashable, Sendable {
    /// Connections that were accepted.
    public var connections = 0
    /// Connections whose TLS handshake succeeded.
    public var handshakes = 0
    /// Connections that failed before the end of their handshake.
    public var handshakeFailures = 0
    /// Notifications that were accepted.
    public var accepted = 0
    /// Notifications that were read whole and refused, by rule or for a fault.
    public var refused = 0
    /// Bytes that arrived after a connection's last word was decided, TLS not counted.
    public var discardedBytes = 0
}

extension GatewayCounts: ServiceCounts {}

extension Tally<GatewayCounts> {
    /// Adds what a connection counted since `earlier`.
    func add(_ counts: GatewayMachine.Counts, since earlier: GatewayMachine.Counts) {
        self.update { total in
            total.accepted += counts.accepted - earlier.accepted
            total.refused += counts.refused - earlier.refused
            total.discardedBytes += counts.discardedBytes - earlier.discardedBytes
        }
    }
}
