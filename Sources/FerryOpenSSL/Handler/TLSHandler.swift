package import NIOCore

/// TLS as a channel handler, for either side: ciphertext below, plaintext above.
///
/// ```
///            active        handshake done          close          both sides done, or deadline
///    idle ─────────▶ handshaking ─────────▶ active ─────▶ closing ─────────▶ closed
///                        │                    │              │                 ▲
///                        └────────────────────┴──────────────┴── failure, EOF ─┘
/// ```
///
/// Events that it fires:
/// * `TLSUserEvent.handshakeCompleted(negotiatedProtocol:)`.
/// * `ChannelEvent.inputClosed` when the peer said close_notify and the channel allows remote half closure. Writing
///   goes on until the owner closes.
/// * `TLSUserEvent.shutdownCompleted` when the peer said close_notify and the channel does not allow it; the handler
///   then answers and closes.
/// * a ``TLSError`` through `errorCaught`, once, before the channel becomes inactive, when TLS failed or the connection
///   ended without close_notify. What had arrived before is delivered first.
///
/// `close(mode: .output)` sends what was written so far, then close_notify, then shuts the socket's output; reading
/// goes on. `close(mode: .all)` sends what was flushed, then close_notify, waits for the peer's, and closes at the
/// deadline at the latest. Before the end of the handshake nothing can be sent, so that it closes at once.
/// After a failure a server shuts its output behind the alert, and reads on until the peer ends or the deadline passes;
/// a client closes behind its alert.
///
/// All methods and properties belong to the channel's event loop.
package final class TLSHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// Limits of a connection's edges.
    package struct Limits: Sendable {
        /// From the channel's activation to the end of the handshake.
        package var handshake: Duration = .seconds(10)
        /// From `close` to the peer's answer.
        package var shutdown: Duration = .seconds(5)
        /// What may be written before the end of the handshake, in bytes.
        package var bufferedBytes = 1 << 20

        package init() {}
    }

    /// A half close that waits for its turn.
    struct OutputShutdown {
        var promise: EventLoopPromise<Void>?
    }

    enum State {
        case idle
        case handshaking
        case active
        /// Waits for what is still missing of a closing.
        case closing
        case closed
    }

    let limits: Limits
    var engine: TLSEngine
    var state = State.idle
    /// Half closed by this side: close_notify was sent, or waits for the end of the handshake.
    var isOutputClosed = false
    /// The peer's close_notify has arrived.
    var isInputClosed = false
    var writes = PendingWrites()
    /// The promises of writes whose ciphertext waits in the engine.
    var encrypted: [EventLoopPromise<Void>] = []
    var isSending = false
    var isStepping = false
    var hasFailed = false
    /// Of a closing: close_notify or the alert has left.
    var hasSentLast = false
    /// Of a failure: input is read and dropped until the peer ends it.
    var lingers = false
    /// Waits until all ciphertext has been written.
    var outputShutdown: OutputShutdown?
    var closePromises: [EventLoopPromise<Void>] = []
    var deadline: Scheduled<Void>?
    /// The next handler asked for bytes, or the handshake needs them.
    var wantsRead = false
    var deliveredSinceRead = false

    /// All ciphertext encrypted for this channel so far, handshake included, in bytes. Counts at encryption: after a
    /// flush on a connection whose handshake is done it covers all that was written before.
    package var ciphertextBytesProduced: UInt64 { engine.ciphertextBytesProduced }
    /// All ciphertext read from this channel so far, in bytes.
    package private(set) var ciphertextBytesConsumed: UInt64 = 0
    /// The version that the handshake agreed on; nil before its end.
    package var version: TLSVersion? { engine.version }
    /// The cipher suite that the handshake agreed on, as OpenSSL names it; nil before its end.
    package var cipherSuite: String? { engine.cipherSuite }
    /// The certificates that the server sent, its own first; for a client only.
    package var serverCertificates: [CertificateSummary] { engine.serverCertificates }
    /// What the peer's certificate says; nil when it showed none.
    package var peerCertificate: CertificateSummary? { engine.peerCertificate }

    private init(engine: consuming TLSEngine, limits: Limits) {
        self.engine = engine
        self.limits = limits
    }

    /// The client side.
    ///
    /// - Parameter serverName: the host name or address that the server's certificate must be for; also what SNI says
    ///   when it is a name.
    /// - Throws: ``TLSError`` with `invalidConfiguration` or `internalFailure`.
    package convenience init(
        client context: TLSContext,
        serverName: String,
        limits: Limits = Limits()
    ) throws(TLSError) {
        precondition(context.role == .client, "This context is for servers")
        try self.init(engine: TLSEngine(context: context, peer: PeerName(serverName)), limits: limits)
    }

    /// The server side.
    ///
    /// - Throws: ``TLSError`` with `internalFailure`.
    package convenience init(server context: TLSContext, limits: Limits = Limits()) throws(TLSError) {
        precondition(context.role == .server, "This context is for clients")
        try self.init(engine: TLSEngine(context: context), limits: limits)
    }

    // MARK: Life

    package func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context: context) }
    }

    package func channelActive(context: ChannelHandlerContext) {
        begin(context: context)
        context.fireChannelActive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        finish(failing: TLSError(.closed, "TLS was removed from the channel."))
    }

    package func channelInactive(context: ChannelHandlerContext) {
        // A write that fails inside a callback makes the channel read what is left and end before the callback returns:
        // the loop that would work through it is further up the stack, and would come too late.
        isStepping = false
        step(context: context)
        let isNews = state == .handshaking || state == .active && !isInputClosed
        let error = isNews ? endOfStreamError : nil
        // No promise may complete before the error has been told.
        state = .closed
        if let error { context.fireErrorCaught(error) }
        finish(failing: error ?? TLSError(.closed, "The connection ended before the bytes could be sent."))
        context.fireChannelInactive()
    }

    // MARK: Reading

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let ciphertext = unwrapInboundIn(data)
        ciphertextBytesConsumed += UInt64(ciphertext.readableBytes)
        guard state != .closed else { return }
        engine.ingest(ciphertext)
        step(context: context)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        let delivered = deliveredSinceRead
        deliveredSinceRead = false
        context.fireChannelReadComplete()
        // Whoever asked for bytes and got none must not wait behind records that carry no data.
        if !delivered, wantsRead || state == .handshaking || state == .closing { context.read() }
    }

    package func read(context: ChannelHandlerContext) {
        wantsRead = true
        context.read()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            socketInputClosed(context: context)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    // MARK: Writing

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOutputClosed else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        guard state != .closing, state != .closed else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        writes.append(unwrapOutboundIn(data), promise)
        if state != .active, writes.bytes > limits.bufferedBytes {
            let limit = "\(limits.bufferedBytes) bytes were written before the TLS handshake ended"
            fail(TLSError(.bufferLimitExceeded, "More than \(limit); write less until then."), context: context)
        }
    }

    package func flush(context: ChannelHandlerContext) {
        writes.mark()
        if state == .active {
            encryptMarked(context: context)
            send(context: context)
        }
    }
}
