internal import FerryCore
internal import FerryMachine
internal import FerryOpenSSL
internal import NIOCore

/// The handler of one established connection: passes its bytes and its end to the owner.
///
/// Belongs to the channel's event loop, which is also the owner's.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: ConnectionID
    let transport: TransportHandler
    private let tls: TLSHandler
    private var hasReceived = false
    private var error: (any Error)?
    /// Nil once the end of the connection was reported, or the connection was aborted.
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

    /// Whether the socket holds unread bytes. True if the connection is closed.
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
        // The first error is the cause; later errors are its consequences. The TLS handler closes after its own errors.
        self.error = self.error ?? error
        if !(error is TLSError) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let owner = self.owner
        self.owner = nil
        owner?.ended(self, self.end)
        context.fireChannelInactive()
    }

    /// Sends bytes. Returns the position in the byte stream below TLS after them.
    func send(_ bytes: ByteBuffer) -> UInt64 {
        self.context?.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
        return self.transport.written
    }

    /// Closes after the bytes that were written: only the output, or all, as the connector says.
    func finish() {
        self.context?.close(mode: self.connector.finishing, promise: nil)
    }

    /// Closes at once. Nothing is reported after this.
    func abort() {
        self.owner = nil
        self.transport.abort()
    }

    /// How the connection ended. Call it only after the end.
    private var end: ConnectionEnd {
        let (tls, version) = (self.connector.tls, self.tls.version)
        if let refusal = tls.refusal(self.error, version: version, hasReceived: self.hasReceived) {
            return .credentialsRejected(refusal)
        }
        guard let error, (error as? TLSError)?.code != .uncleanShutdown else { return .endOfStream }
        return .lost(tls.lost(error))
    }
}
