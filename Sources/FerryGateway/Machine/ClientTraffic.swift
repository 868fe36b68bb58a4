/// The gateway's observations of a client besides its notifications.
struct ClientTraffic: Hashable, Sendable {
    /// The open connections.
    var connections = 0
    /// The error responses that began an episode.
    var episodes = 0
    /// When the client last sent something, in UNIX seconds; nil if not since the start of this process.
    var heardAt: UInt32?
}
