internal import Synchronization

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

/// ``GatewayCounts`` that any event loop adds to.
final class GatewayStatistics: Sendable {
    private let connections = Atomic<Int>(0)
    private let handshakes = Atomic<Int>(0)
    private let handshakeFailures = Atomic<Int>(0)
    private let accepted = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let discardedBytes = Atomic<Int>(0)

    /// The number of the connection, from 1.
    func countConnection() -> Int {
        self.connections.add(1, ordering: .relaxed).newValue
    }

    func countHandshake(succeeded: Bool) {
        if succeeded {
            self.handshakes.add(1, ordering: .relaxed)
        } else {
            self.handshakeFailures.add(1, ordering: .relaxed)
        }
    }

    func add(_ counts: GatewayMachine.Counts, since earlier: GatewayMachine.Counts) {
        self.accepted.add(counts.accepted - earlier.accepted, ordering: .relaxed)
        self.refused.add(counts.refused - earlier.refused, ordering: .relaxed)
        self.discardedBytes.add(counts.discardedBytes - earlier.discardedBytes, ordering: .relaxed)
    }

    var snapshot: GatewayCounts {
        GatewayCounts(
            connections: self.connections.load(ordering: .relaxed),
            handshakes: self.handshakes.load(ordering: .relaxed),
            handshakeFailures: self.handshakeFailures.load(ordering: .relaxed),
            accepted: self.accepted.load(ordering: .relaxed),
            refused: self.refused.load(ordering: .relaxed),
            discardedBytes: self.discardedBytes.load(ordering: .relaxed)
        )
    }
}
