internal import FerryServer
internal import NIOCore
internal import NIOTLS

/// One side of a recorded connection. It records the bytes that arrive, and hands them to the other side.
///
/// Both sides run on one event loop. A side does not read while the other cannot write, so the bytes between them are
/// bounded by the channels' buffers.
final class TeeHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The callbacks of a side: it is ready, or its connection failed before that.
    struct Owner {
        var isReady: (TeeHandler) -> Void
        var failed: (any Error) -> Void
    }

    /// The side at the other end of this channel.
    let side: Transcript.Side
    private let connection: Int
    private let writer: TranscriptWriter
    private let socket: SocketHandler
    private let isSecure: Bool
    private let owner: Owner
    private var partner: TeeHandler?
    private var context: ChannelHandlerContext?
    private var isReady = false
    private var hasEnded = false
    private var wasReset = false
    private var wantsRead = false
    /// The bytes that arrived before the other side was ready: at most one read.
    private var held: [ByteBuffer] = []

    init(
        _ side: Transcript.Side,
        connection: Int,
        writer: TranscriptWriter,
        socket: SocketHandler,
        isSecure: Bool,
        owner: Owner
    ) {
        self.side = side
        self.connection = connection
        self.writer = writer
        self.socket = socket
        self.isSecure = isSecure
        self.owner = owner
    }

    /// Joins two sides that are ready.
    static func join(_ client: TeeHandler, _ server: TeeHandler) {
        // The client may have closed while the recorder connected to the gateway.
        guard client.context != nil else { return server.abandon() }
        client.partner = server
        server.partner = client
        for side in [client, server] {
            for bytes in side.held { side.partner?.forward(bytes) }
            side.held = []
            side.partner?.context?.flush()
            if side.hasEnded { side.partner?.context?.close(mode: .output, promise: nil) }
            side.readIfPossible()
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive, !self.isSecure { self.becomeReady() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        if !self.isSecure { self.becomeReady() }
        context.fireChannelActive()
    }

    private func becomeReady() {
        guard !self.isReady else { return }
        self.isReady = true
        if self.side == .client { self.note(.open) }
        self.owner.isReady(self)
    }

    // MARK: From the peer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.note(.bytes(Array(bytes.readableBytesView)))
        if let partner { partner.forward(bytes) } else { self.held.append(bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.partner?.context?.flush()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted:
            self.becomeReady()
        case ChannelEvent.inputClosed:
            self.end(.halfClose)
            self.partner?.context?.close(mode: .output, promise: nil)
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !self.isReady else {
            self.wasReset = true
            return
        }
        guard !self.hasEnded else { return }
        self.hasEnded = true
        self.owner.failed(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if self.isReady { self.end(self.wasReset ? .reset : .end) }
        if self.wasReset { self.partner?.socket.reset() } else { self.partner?.context?.close(promise: nil) }
        self.partner?.partner = nil
        self.partner = nil
        self.writer.flush()
        if self.side == .client { self.writer.forget(self.connection) }
        context.fireChannelInactive()
    }

    // MARK: To the peer

    private func forward(_ bytes: ByteBuffer) {
        guard let context else { return }
        context.write(self.wrapOutboundOut(bytes), promise: nil)
    }

    func read(context: ChannelHandlerContext) {
        guard self.isReady else { return context.read() }
        self.wantsRead = true
        self.readIfPossible()
    }

    private func readIfPossible() {
        guard self.wantsRead, let context, self.partner?.context?.channel.isWritable == true else { return }
        self.wantsRead = false
        context.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.partner?.readIfPossible() }
        context.fireChannelWritabilityChanged()
    }

    /// Closes a side that has no other side, and records nothing.
    func abandon() {
        self.hasEnded = true
        self.context?.close(promise: nil)
    }

    // MARK: The record

    private func end(_ kind: Transcript.Kind) {
        guard !self.hasEnded else { return }
        self.hasEnded = true
        // When both sides have ended, the connection has ended.
        self.note(kind == .halfClose && self.partner?.hasEnded == true ? .end : kind)
    }

    private func note(_ kind: Transcript.Kind) { self.writer.note(self.connection, self.side, kind) }
}
