internal import FerryCore
internal import FerryServer

/// The counts of a simulated service: those of its connections, and those of its protocol.
protocol ServiceCounts: Sendable {
    init()
    var connections: Int { get set }
    var handshakes: Int { get set }
    var handshakeFailures: Int { get set }
}

extension ConnectionCounts: ServiceCounts {}

/// The counts of a protocol, which any event loop may change. The listener counts the connections.
final class Tally<Counts: ServiceCounts>: Sendable {
    private let counts = Locked(Counts())

    /// Changes the counts. Holds a lock during the call of `body`.
    func update(_ body: (inout Counts) -> Void) {
        self.counts.withLock { body(&$0) }
    }

    var snapshot: Counts { self.counts.withLock { $0 } }
}
