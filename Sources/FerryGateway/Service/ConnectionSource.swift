internal import FerryServer
internal import NIOCore

/// The address from which a connection's client comes. If a proxy names the client, this is the address that the proxy
/// names. Otherwise it is the address of the socket.
struct ConnectionSource {
    /// The address is kept, because after a reset the socket no longer knows its address.
    private var address: SocketAddress?
    private var proxied: ProxiedConnection?

    /// Takes the address of a new connection's socket.
    mutating func note(_ context: ChannelHandlerContext) {
        if self.address == nil { self.address = context.remoteAddress }
    }

    /// Takes the client that a proxy has named.
    mutating func note(_ connection: ProxiedConnection) {
        self.proxied = connection
        if let client = connection.client { self.address = client }
    }

    /// Whether the socket leads to a proxy. The system's facts about the socket, such as acknowledgements, are then
    /// facts about the proxy.
    var isProxied: Bool { self.proxied != nil }
    /// The address for people.
    var name: String { self.address?.ipAddress ?? "a client" }
    /// The IP address in network order; empty for a socket without one.
    var bytes: [UInt8] { self.address?.ipBytes ?? [] }
    /// ``bytes``, but empty if a proxy does not name its client, because ``bytes`` are then the proxy's.
    var clientBytes: [UInt8] { self.isProxied && self.proxied?.client == nil ? [] : self.bytes }

    /// Returns the round trip to the client.
    ///
    /// - Parameter measured: the round trip that was measured at this side.
    func roundTrip(_ measured: TimeAmount) -> TimeAmount { max(measured, self.proxied?.roundTrip ?? .zero) }
}
