internal import NIOCore

/// A client, and the address from which it connects. Connections with the same client and address share a replay
/// filter.
package struct ClientAddress: Hashable, Sendable {
    /// The name of the client for people.
    package var client: String
    /// An IPv4 address, or the network of an IPv6 address, such as `2001:db8::/64`.
    package var address: String

    package init(client: String, address: String) {
        self.client = client
        self.address = address
    }

    /// - Parameter bytes: the IP address: four or sixteen bytes in network order. With another number of bytes, the
    ///   result is nil.
    init?(client: String, _ bytes: [UInt8]) {
        // The scope has only the network of an IPv6 address.
        let scope = ReplayScope(identity: 0, address: bytes).addressBytes
        guard let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: scope), port: 0).ipAddress else {
            return nil
        }
        self.init(client: client, address: scope.count == 4 ? address : address + "/64")
    }
}
