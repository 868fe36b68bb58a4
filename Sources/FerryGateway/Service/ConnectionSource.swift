internal import FerryServer
internal import NIOCore

/// The place from which a connection's client comes. Behind a proxy it is the client's, not the proxy's.
struct ConnectionSource {
    /// The address is kept, because a socket no longer knows it after a reset.
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

    /// Whether the socket leads to a proxy. What the system knows of it, such as acknowledgements, is about the proxy.
    var isProxied: Bool { self.proxied != nil }
    /// The address for people.
    var name: String { self.address?.ipAddress ?? "a client" }
    /// The IP address in network order; empty for a socket without one.
    var bytes: [UInt8] { self.address?.ipBytes ?? [] }
    /// ``bytes``, which are empty also if a proxy does not name its client: the address is the proxy's then.
    var clientBytes: [UInt8] { self.isProxied && self.proxied?.client == nil ? [] : self.bytes }

    /// Returns the round trip to the client.
    ///
    /// - Parameter measured: the round trip that was measured at this side.
    func roundTrip(_ measured: TimeAmount) -> TimeAmount { max(measured, self.proxied?.roundTrip ?? .zero) }
}
