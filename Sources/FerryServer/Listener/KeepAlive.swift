internal import FerryPlatform
internal import NIOCore
internal import NIOPosix

/// The probes of TCP to a client that sends nothing.
///
/// A client may be silent for days. So no time limit tells a silent client from a client whose machine or network has
/// gone without closing the connection. Without probes, connections of gone clients would stay, until the limit
/// leaves no room for other clients.
enum KeepAlive {
    /// The seconds of silence before the first probe. Devices on the network path forget silent connections, so a
    /// probe must come earlier: AWS's Network Load Balancer forgets them after 350 s.
    static let idle: SocketOptionValue = 120
    /// The seconds between two probes: the default of Linux.
    static let interval: SocketOptionValue = 75
    /// The number of probes without an answer that ends a connection. The connection ends after 13 minutes of
    /// silence, because the client's machine or network may be away for some minutes.
    static let count: SocketOptionValue = 9

    /// The socket options of a connection.
    static var options: [(ChannelOptions.Types.SocketOption, SocketOptionValue)] {
        #if os(Linux)
        [
            (.socketOption(.so_keepalive), 1),
            (.tcpOption(NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE)), Self.idle),
            (.tcpOption(NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL)), Self.interval),
            (.tcpOption(NIOBSDSocket.Option(rawValue: TCP_KEEPCNT)), Self.count),
        ]
        #else
        [(.socketOption(.so_keepalive), 1)]
        #endif
    }
}

extension ServerBootstrap {
    /// Sets the options of accepted connections over TCP.
    func acceptingTCP() -> ServerBootstrap {
        KeepAlive.options.reduce(self.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)) { bootstrap, option in
            bootstrap.childChannelOption(option.0, value: option.1)
        }
    }
}
