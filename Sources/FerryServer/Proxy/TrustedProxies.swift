package import FerryPlatform
package import NIOCore

/// The proxies of a listener. A connection from one of their addresses must begin with a ``ProxyHeader``. On other
/// connections no header is read, so that nobody else can claim the address of a client.
package struct TrustedProxies: Hashable, Sendable {
    package var networks: [IPNetwork]
    /// The shortest round trip that is assumed between a proxy's client and this process. The system measures only
    /// the round trip to the proxy.
    package var roundTrip: TimeAmount

    package init(_ networks: [IPNetwork] = [], roundTrip: TimeAmount = .zero) {
        self.networks = networks
        self.roundTrip = roundTrip
    }

    package func contains(_ address: SocketAddress) -> Bool {
        let bytes = address.ipBytes
        return self.networks.contains { $0.contains(bytes) }
    }
}

/// The client of a connection that comes through a proxy. The handlers get it as an inbound event before
/// `channelActive`, whether or not the header names the client.
package struct ProxiedConnection: Hashable, Sendable {
    /// The client's address; nil if the header does not name it.
    package let client: SocketAddress?
    /// See ``TrustedProxies/roundTrip``.
    package let roundTrip: TimeAmount
}

extension SocketAddress {
    /// The bytes of the IP address in network order; empty for any other address.
    package var ipBytes: [UInt8] {
        // In `sockaddr_in`, the four bytes of the address follow the family and the port. In `sockaddr_in6`, the
        // sixteen bytes of the address follow the flow information.
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address): withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket: []
        }
    }
}
