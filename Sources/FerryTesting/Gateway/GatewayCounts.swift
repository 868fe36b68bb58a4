/// The counts of a ``SimulatedGateway`` since it started.
public struct GatewayCounts: Hashable, Sendable {
    /// Connections that were accepted.
    public var connections = 0
    /// Connections whose TLS handshake succeeded.
    public var handshakes = 0
    /// Connections that failed before their TLS handshake ended.
    public var handshakeFailures = 0
    /// Notifications that were accepted.
    public var accepted = 0
    /// Notifications that were read completely and refused, by a rule or because they were invalid. A client's probe is
    /// invalid on purpose and counts, too.
    public var refused = 0
    /// Bytes that arrived after the end of their connection was decided, without TLS.
    public var discardedBytes = 0
}

extension GatewayCounts: ServiceCounts {}

extension Tally<GatewayCounts> {
    /// Adds the difference between two counts of a connection.
    func add(_ counts: SimulatedGatewayMachine.Counts, since earlier: SimulatedGatewayMachine.Counts) {
        self.update { total in
            total.accepted += counts.accepted - earlier.accepted
            total.refused += counts.refused - earlier.refused
            total.discardedBytes += counts.discardedBytes - earlier.discardedBytes
        }
    }
}
