internal import FerryCore
internal import FerryOpenSSL
internal import NIOCore
internal import NIOPosix

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// Makes a provider's connections to one peer: TCP with the right options, TLS, and the handlers.
struct ProviderConnector: Sendable {
    /// Bytes that may wait between TLS and the kernel before writing stops: with the chunk that passes it, 256 KiB.
    static let channelLimit = ChannelOptions.Types.WriteBufferWaterMark(low: 96 << 10, high: 160 << 10)
    /// Bytes that may wait, unsent, in the kernel: what a peer that stops reading can swallow beyond its own buffer.
    static let unsentLimit = 128 << 10
    static let keepAlive: Duration = .seconds(60)
    /// What `connectTimeout` 0 means: as long as Linux itself tries (127 s, six repeats of the SYN).
    static let connectLimit: Duration = .seconds(127)

    let tls: TLSConnector
    /// How long the peer's TCP may leave bytes unacknowledged until Linux gives the connection up.
    let stallLimit: TimeAmount
    /// What of a connection is closed when it is finished: the output, or all.
    let finishing: CloseMode

    var connectTimeout: TimeAmount { self.tls.connectTimeout }

    /// Connects. The handler reports to `owner`; when that is not to be, the future fails.
    func connect(_ id: ConnectionID, for owner: any ConnectionOwner) -> EventLoopFuture<any Channel> {
        self.tls.connect(
            self.tls.bootstrap(on: owner.eventLoop)
                .channelOption(.writeBufferWaterMark, value: Self.channelLimit)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try self.configure(channel, id, owner)
                    }
                }
        )
    }

    private func configure(_ channel: any Channel, _ id: ConnectionID, _ owner: any ConnectionOwner) throws {
        let transport = TransportHandler()
        let tls = try self.tls.makeHandler()
        let handler = ConnectionHandler(id: id, owner: owner, transport: transport, tls: tls, connector: self)
        try channel.pipeline.syncOperations.addHandlers([transport, tls, handler])
        guard let options = channel.syncOptions else { return }
        for (name, value) in self.tcpOptions {
            // Not every system has every option, and a connection without one is better than none.
            try? options.setOption(ChannelOptions.Types.SocketOption(level: .tcp, name: name), value: value)
        }
        guard owner.isDialing(id) else { throw ChannelError.connectTimeout(self.connectTimeout) }
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

    // MARK: What a failure means

    /// There is no TCP connection.
    func unreachable(_ error: any Error) -> ProviderError { self.tls.error(error) }

    /// `connectTimeout` has passed.
    ///
    /// - Parameter connection: how far it came; nil without TCP.
    func timedOut(_ connection: ConnectionHandler?) -> ProviderError {
        self.tls.error(ChannelError.connectTimeout(self.connectTimeout))
    }
}
