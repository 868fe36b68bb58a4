/// The provider that a run of binary or HTTP/2 measures.
package struct BenchProvider: Sendable {
    package var connections: Int
    /// The number of threads, at most ``connections``. The server has the same number of threads.
    package var loops: Int
    /// Whether the provider has metrics.
    var hasMetrics: Bool
    /// Whether the provider is a `MigratingProvider` whose rule gives all devices to the measured protocol.
    var migrates: Bool

    package init(connections: Int = 1, loops: Int = 1, hasMetrics: Bool = false, migrates: Bool = false) {
        self.connections = connections
        self.loops = loops
        self.hasMetrics = hasMetrics
        self.migrates = migrates
    }
}
