internal import FerryBinary
internal import FerryCore
internal import FerryOpenSSL
internal import NIOCore
internal import NIOTLS

/// One connection of a ``BinaryDriver``: passes on what happens.
///
/// Belongs to the channel's event loop, which is the driver's.
final class BinaryConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: ConnectionID
    let transport: TransportHandler
    private let tls: TLSHandler
    /// Whether the handshake is done.
    private(set) var isConnected = false
    private var hasReceived = false
    private var error: (any Error)?
    /// Gone once the connection has been reported as ended, or was given up.
    private var driver: BinaryDriver?
    private var context: ChannelHandlerContext?
    private let connector: TLSConnector

    init(
        id: ConnectionID,
        driver: BinaryDriver,
        transport: TransportHandler,
        tls: TLSHandler,
        connector: TLSConnector
    ) {
        self.tls = tls
        self.id = id
        self.driver = driver
        self.transport = transport
        self.connector = connector
    }

    var isWritable: Bool { self.context?.channel.isWritable ?? false }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent {
            self.isConnected = true
            self.driver?.connected(self)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.hasReceived = true
        self.driver?.received(self.unwrapInboundIn(data), on: self)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.driver?.writabilityChanged(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The first error is the cause; what follows are its consequences. TLS closes by itself.
        self.error = self.error ?? error
        if !(error is TLSError) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let driver = self.driver
        self.driver = nil
        driver?.ended(self, self.end)
        context.fireChannelInactive()
    }

    /// Sends bytes; returns where the stream below TLS ends then.
    func send(_ bytes: ByteBuffer) -> UInt64 {
        self.context?.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
        return self.transport.written
    }

    /// Half-closes: close_notify, end of stream, and on with reading.
    func finish() {
        self.context?.close(mode: .output, promise: nil)
    }

    /// Closes at once. Nothing more will be reported.
    func abort() {
        self.driver = nil
        self.transport.abort()
    }

    /// How the connection ended, once it has.
    private var end: BinaryClient.End {
        let version = self.isConnected ? self.tls.version : nil
        if let refusal = self.connector.refusal(self.error, version: version, hasReceived: self.hasReceived) {
            return .credentialsRejected(refusal)
        }
        guard self.isConnected else { return .notConnected(self.connector.error(self.error)) }
        guard let error, (error as? TLSError)?.code != .uncleanShutdown else { return .endOfStream }
        return .lost(self.connector.lost(error))
    }
}
