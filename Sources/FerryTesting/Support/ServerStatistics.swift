internal import Synchronization

/// What a simulated server counts of its connections, whatever they speak.
protocol ServerCounts: Sendable {
    init()
    var connections: Int { get set }
    var handshakes: Int { get set }
    var handshakeFailures: Int { get set }
}

/// Counts that any event loop adds to.
final class ServerStatistics<Counts: ServerCounts>: Sendable {
    private let counts = Mutex(Counts())

    /// The number of the connection, from 1.
    func countConnection() -> Int {
        self.counts.withLock { counts in
            counts.connections += 1
            return counts.connections
        }
    }

    func countHandshake(succeeded: Bool) {
        self.counts.withLock { counts in
            if succeeded {
                counts.handshakes += 1
            } else {
                counts.handshakeFailures += 1
            }
        }
    }

    /// Adds what the wire alone counts. Holds a lock meanwhile.
    func update(_ body: (inout Counts) -> Void) {
        self.counts.withLock { body(&$0) }
    }

    var snapshot: Counts { self.counts.withLock { $0 } }
}
