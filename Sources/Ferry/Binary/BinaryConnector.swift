internal import FerryBinary
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

/// Makes connections to one gateway: TCP with the right options, TLS, and the handlers.
struct BinaryConnector: Sendable {
    /// Bytes that may wait between TLS and the kernel before writing stops: with the chunk that passes it, 256 KiB.
    static let channelLimit = ChannelOptions.Types.WriteBufferWaterMark(low: 96 << 10, high: 160 << 10)
    /// Bytes that may wait, unsent, in the kernel: what a peer that stops reading can swallow beyond its own buffer.
    static let unsentLimit = 128 << 10
    static let keepAlive: Duration = .seconds(60)
    /// What `connectTimeout` 0 means: as long as Linux itself tries (127 s, six repeats of the SYN).
    static let connectLimit: Duration = .seconds(127)

    let tls: TLSConnector

    init(_ configuration: BinaryConfiguration) throws(TLSError) {
        let timeout = configuration.options.connectTimeout
        self.tls = try TLSConnector(
            host: configuration.host,
            port: configuration.port,
            serverName: configuration.serverName,
            client: .init(
                trustRoots: configuration.trustRoots,
                identity: configuration.identity,
                versions: configuration.tlsVersions
            ),
            rejectUnauthorized: configuration.rejectUnauthorized,
            connectTimeout: timeout > .zero ? timeout : Self.connectLimit
        )
    }

    var connectTimeout: TimeAmount { self.tls.connectTimeout }

    /// Connects. The handler reports to `driver`; when that is not to be, the future fails.
    func connect(_ id: ConnectionID, for driver: BinaryDriver) -> EventLoopFuture<any Channel> {
        self.tls.connect(
            self.tls.bootstrap(on: driver.eventLoop)
                .channelOption(.writeBufferWaterMark, value: Self.channelLimit)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try self.configure(channel, id, driver)
                    }
                }
        )
    }

    private func configure(_ channel: any Channel, _ id: ConnectionID, _ driver: BinaryDriver) throws {
        let transport = TransportHandler()
        let tls = try self.tls.makeHandler()
        let handler = BinaryConnectionHandler(
            id: id,
            driver: driver,
            transport: transport,
            tls: tls,
            connector: self.tls
        )
        try channel.pipeline.syncOperations.addHandlers([transport, tls, handler])
        guard let options = channel.syncOptions else { return }
        for (name, value) in Self.tcpOptions {
            // Not every system has every option, and a connection without one is better than none.
            try? options.setOption(ChannelOptions.Types.SocketOption(level: .tcp, name: name), value: value)
        }
        guard driver.isDialing(id) else { throw ChannelError.connectTimeout(self.connectTimeout) }
    }

    private static var tcpOptions: [(NIOBSDSocket.Option, Int)] {
        #if os(Linux)
        [
            (NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT), Self.unsentLimit),
            (NIOBSDSocket.Option(rawValue: TCP_USER_TIMEOUT), Int(Silence.stallLimit.nanoseconds / 1_000_000)),
            (NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE), Int(Self.keepAlive.components.seconds)),
            (NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL), 10),
        ]
        #else
        []
        #endif
    }
}
