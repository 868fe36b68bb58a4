/// The number of connections of a measured provider, and of the threads that they are on.
package struct BenchSize: Sendable {
    package var connections: Int
    /// At most as many as connections.
    package var loops: Int

    package init(connections: Int = 1, loops: Int = 1) {
        self.connections = connections
        self.loops = loops
    }
}
