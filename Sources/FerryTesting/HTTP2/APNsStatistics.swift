internal import Synchronization

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

/// ``APNsCounts`` that any event loop adds to.
final class APNsStatistics: Sendable {
    private let connections = Atomic<Int>(0)
    private let handshakes = Atomic<Int>(0)
    private let handshakeFailures = Atomic<Int>(0)
    private let accepted = Atomic<Int>(0)
    private let rejected = Atomic<Int>(0)
    private let unanswered = Atomic<Int>(0)
    private let goAways = Atomic<Int>(0)
    private let violations = Atomic<Int>(0)

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

    func add(_ counts: APNsMachine.Counts, since earlier: APNsMachine.Counts) {
        self.accepted.add(counts.accepted - earlier.accepted, ordering: .relaxed)
        self.rejected.add(counts.rejected - earlier.rejected, ordering: .relaxed)
        self.unanswered.add(counts.unanswered - earlier.unanswered, ordering: .relaxed)
        self.goAways.add(counts.goAways - earlier.goAways, ordering: .relaxed)
        self.violations.add(counts.violations - earlier.violations, ordering: .relaxed)
    }

    var snapshot: APNsCounts {
        APNsCounts(
            connections: self.connections.load(ordering: .relaxed),
            handshakes: self.handshakes.load(ordering: .relaxed),
            handshakeFailures: self.handshakeFailures.load(ordering: .relaxed),
            accepted: self.accepted.load(ordering: .relaxed),
            rejected: self.rejected.load(ordering: .relaxed),
            unanswered: self.unanswered.load(ordering: .relaxed),
            goAways: self.goAways.load(ordering: .relaxed),
            violations: self.violations.load(ordering: .relaxed)
        )
    }
}
