internal import FerryCore
internal import FerryMachine
internal import FerryOpenSSL
internal import NIOCore

/// One connection of a provider, from the end of its handshake on: passes on what happens.
///
/// Belongs to the channel's event loop, which is the owner's.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: ConnectionID
    let transport: TransportHandler
    private let tls: TLSHandler
    private var hasReceived = false
    private var error: (any Error)?
    /// Gone once the connection has been reported as ended, or was given up.
    private var owner: (any ConnectionOwner)?
    private var context: ChannelHandlerContext?
    private let connector: ProviderConnector

    init(
        id: ConnectionID,
        owner: any ConnectionOwner,
        transport: TransportHandler,
        tls: TLSHandler,
        connector: ProviderConnector
    ) {
        self.tls = tls
        self.id = id
        self.owner = owner
        self.transport = transport
        self.connector = connector
    }

    var isWritable: Bool { self.context?.channel.isWritable ?? false }

    /// Whether something came that was not read. True when the connection is gone.
    var hasUnreadBytes: Bool { self.context?.channel.hasUnreadBytes ?? true }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.hasReceived = true
        self.owner?.received(self.unwrapInboundIn(data), on: self)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.owner?.writabilityChanged(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The first error is the cause; what follows are its consequences. TLS closes by itself.
        self.error = self.error ?? error
        if !(error is TLSError) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let owner = self.owner
        self.owner = nil
        owner?.ended(self, self.end)
        context.fireChannelInactive()
    }

    /// Sends bytes; returns where the stream below TLS ends then.
    func send(_ bytes: ByteBuffer) -> UInt64 {
        self.context?.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
        return self.transport.written
    }

    /// Closes behind what was written: its output, and on with reading, or all of it, as the connector says.
    func finish() {
        self.context?.close(mode: self.connector.finishing, promise: nil)
    }

    /// Closes at once. Nothing more will be reported.
    func abort() {
        self.owner = nil
        self.transport.abort()
    }

    /// How the connection ended, once it has.
    private var end: ConnectionEnd {
        let (tls, version) = (self.connector.tls, self.tls.version)
        if let refusal = tls.refusal(self.error, version: version, hasReceived: self.hasReceived) {
            return .credentialsRejected(refusal)
        }
        guard let error, (error as? TLSError)?.code != .uncleanShutdown else { return .endOfStream }
        return .lost(tls.lost(error))
    }
}
