/// The connections and error responses of a client, and the time of its last bytes.
struct ClientTraffic: Hashable, Sendable {
    /// The number of open connections.
    var connections = 0
    /// The number of error responses, status 10 included.
    var episodes = 0
    /// When the client last sent something, in UNIX seconds; nil if it has sent nothing to this process.
    var heardAt: UInt32?
}
