internal import FerryServer
internal import Synchronization

/// What a simulated service counts: of its connections, whatever they speak, and what its protocol adds.
protocol ServiceCounts: Sendable {
    init()
    var connections: Int { get set }
    var handshakes: Int { get set }
    var handshakeFailures: Int { get set }
}

extension ConnectionCounts: ServiceCounts {}

/// Counts that any event loop adds to. Those of connections are the listener's.
final class Tally<Counts: ServiceCounts>: Sendable {
    private let counts = Mutex(Counts())

    /// Holds a lock meanwhile.
    func update(_ body: (inout Counts) -> Void) {
        self.counts.withLock { body(&$0) }
    }

    var snapshot: Counts { self.counts.withLock { $0 } }
}
