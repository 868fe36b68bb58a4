internal import FerryPlatform
internal import NIOCore
internal import NIOPosix

/// The probes of TCP to a client that sends nothing.
///
/// A client may be silent for days, so no time limit tells it from one whose machine or network has gone without an end.
/// Without probes, the connections of such clients would stay until no other client has a place.
enum KeepAlive {
    /// The seconds of silence before the first probe. Whatever forgets silent connections has to see one in time: AWS's
    /// Network Load Balancer forgets them after 350 s.
    static let idle: SocketOptionValue = 120
    /// The seconds between two probes, as Linux has them.
    static let interval: SocketOptionValue = 75
    /// The probes without an answer that end a connection. It ends after 13 minutes of silence: the client's machine or
    /// network may be away for some minutes.
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
