/// The provider that a run of binary or HTTP/2 measures.
package struct BenchProvider: Sendable {
    package var connections: Int
    /// The number of threads, at most as many as connections. The server has as many.
    package var loops: Int
    /// Whether the provider has metrics.
    var hasMetrics: Bool
    /// Whether the provider is one that moves devices, with all devices on this side.
    var migrates: Bool

    package init(connections: Int = 1, loops: Int = 1, hasMetrics: Bool = false, migrates: Bool = false) {
        self.connections = connections
        self.loops = loops
        self.hasMetrics = hasMetrics
        self.migrates = migrates
    }
}
