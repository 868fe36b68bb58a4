/// The number of connections of a measured provider, and of the threads that they are on.
struct BenchSize {
    var connections = 1
    /// At most as many as connections.
    var loops = 1
}
