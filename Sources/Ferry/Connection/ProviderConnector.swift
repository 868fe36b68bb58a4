internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryProxy
internal import Logging
internal import NIOCore
internal import NIOPosix

/// Makes a provider's connections to one peer: TCP with its options, TLS, and the handlers.
struct ProviderConnector: Sendable {
    /// The bytes that may wait between TLS and the kernel before writing stops. With the chunk that exceeds it: 256
    /// KiB.
    static let channelLimit = ChannelOptions.Types.WriteBufferWaterMark(low: 96 << 10, high: 160 << 10)
    /// The unsent bytes that may wait in the kernel. This bounds the bytes a stalled connection holds beyond the peer's
    /// buffer.
    static let unsentLimit = 128 << 10
    static let keepAlive: Duration = .seconds(60)

    let tls: TLSConnector
    /// How long the peer's TCP may leave bytes unacknowledged. After that Linux closes the connection.
    let stallLimit: TimeAmount
    /// The part of a connection that ``ConnectionHandler/finish()`` closes: the output, or all.
    let finishing: CloseMode

    /// Makes a dial. The caller starts it.
    func dial(
        on eventLoop: any EventLoop,
        logger: Logger,
        completion: @escaping (Dial.Result) -> Void
    ) -> Dial {
        Dial(
            self.tls,
            { self.tls.bootstrap(on: eventLoop).channelOption(.writeBufferWaterMark, value: Self.channelLimit) },
            on: eventLoop,
            logger: logger,
            prepare: { try self.prepare($0) },
            completion: completion
        )
    }

    private func prepare(_ channel: any Channel) throws -> Dial.Stack {
        let transport = TransportHandler()
        let tls = try self.tls.makeHandler()
        let tunnel = self.tls.proxy.map { ProxyConnectHandler($0, host: self.tls.host, port: self.tls.port) }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(transport)
        if let tunnel { try pipeline.addHandler(tunnel) }
        try pipeline.addHandler(tls)
        if let options = channel.syncOptions {
            for (name, value) in self.tcpOptions {
                // Some systems lack some options. A connection without one is better than no connection.
                try? options.setOption(ChannelOptions.Types.SocketOption(level: .tcp, name: name), value: value)
            }
        }
        return Dial.Stack(transport: transport, tunnel: tunnel, tls: tls)
    }

    private var tcpOptions: [(NIOBSDSocket.Option, Int)] {
        #if os(Linux)
        [
            (NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT), Self.unsentLimit),
            (NIOBSDSocket.Option(rawValue: TCP_USER_TIMEOUT), Int(self.stallLimit.nanoseconds / 1_000_000)),
            (NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE), Int(Self.keepAlive.components.seconds)),
            (NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL), 10),
        ]
        #else
        []
        #endif
    }
}
