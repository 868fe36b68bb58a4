package import NIOCore

/// TLS as a channel handler, for either side: ciphertext below, plaintext above.
///
/// ```
///            active        handshake done     close, failure      both sides done, or deadline
///    idle ─────────▶ handshaking ─────────▶ active ─────▶ closing ─────────▶ closed
///                      │    │                 │             ▲ │                ▲
///                      │    └── failure ──────│─────────────┘ │                │
///                      └──── close, EOF ──────┴───────────────┴────── EOF ─────┘
/// ```
///
/// The handler fires:
/// * `TLSUserEvent.handshakeCompleted(negotiatedProtocol:)`.
/// * `ChannelEvent.inputClosed` when the peer sent close_notify and the channel allows remote half closure. Writing
///   continues until the owner closes.
/// * `TLSUserEvent.shutdownCompleted` when the peer sent close_notify and the channel does not allow remote half
///   closure. The handler then answers and closes.
/// * a ``TLSError`` through `errorCaught`, once, before the channel becomes inactive, when TLS failed or the connection
///   ended without close_notify. Bytes that arrived before are delivered first.
///
/// `close(mode: .output)` sends all earlier writes, then close_notify, then shuts the socket's output. Reading
/// continues.
///
/// `close(mode: .all)` sends all flushed writes, then close_notify, and waits for the peer's close_notify. It closes at
/// the deadline at the latest. Before the end of the handshake nothing can be sent, so it closes at once.
///
/// After a failure, a server sends the alert and shuts its output. It then reads until the peer ends or the deadline
/// passes. A client sends its alert and closes.
///
/// All methods and properties belong to the channel's event loop.
package final class TLSHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// Limits of the beginning and the end of a connection.
    package struct Limits: Sendable {
        /// The time from the channel's activation to the end of the handshake.
        package var handshake: Duration = .seconds(10)
        /// The time from `close` to the peer's answer.
        package var shutdown: Duration = .seconds(5)
        /// The number of bytes that may be written before the end of the handshake.
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
        /// The handler waits for the missing parts of a closing.
        case closing
        case closed
    }

    let limits: Limits
    var engine: TLSEngine
    var state = State.idle
    /// Whether this side is half closed: close_notify was sent, or waits for the end of the handshake.
    var isOutputClosed = false
    /// Whether the peer's input has ended, or is no longer awaited after a failure.
    var isInputClosed = false
    var writes = PendingWrites()
    /// The promises of writes whose ciphertext waits in the engine.
    var encrypted: [EventLoopPromise<Void>] = []
    var flights = HandshakeFlights()
    var isSending = false
    var isStepping = false
    var hasFailed = false
    /// Whether the last bytes of a closing, close_notify or the alert, have left.
    var hasSentLast = false
    /// Whether input is read and dropped after a failure, until the peer ends it.
    var lingers = false
    /// The half close that waits until all ciphertext was written.
    var outputShutdown: OutputShutdown?
    var closePromises: [EventLoopPromise<Void>] = []
    var deadline: Scheduled<Void>?
    /// Whether the next handler asked for bytes, or the handshake needs them.
    var wantsRead = false
    var deliveredSinceRead = false

    /// The number of bytes of ciphertext for this channel so far, handshake included. Bytes count when they are
    /// encrypted. So after a flush on a connection whose handshake is done, the number covers all earlier writes.
    package var ciphertextBytesProduced: UInt64 { engine.ciphertextBytesProduced }
    /// The number of bytes of ciphertext read from this channel so far.
    package private(set) var ciphertextBytesConsumed: UInt64 = 0
    /// The longest time from a flight of the handshake to the peer's next bytes: a round trip to the peer itself, where TCP
    /// measures the way to a balancer. Nil: no flight was answered.
    package var handshakeRoundTrip: TimeAmount? { flights.longest }
    /// The version that the handshake agreed on; nil before its end.
    package var version: TLSVersion? { engine.version }
    /// The cipher suite that the handshake agreed on, as OpenSSL names it; nil before its end.
    package var cipherSuite: String? { engine.cipherSuite }
    /// The certificates that the server sent, its own first. For a client only.
    package var serverCertificates: [CertificateSummary] { engine.serverCertificates }
    /// The contents of the peer's certificate; nil if the peer showed none.
    package var peerCertificate: CertificateSummary? { engine.peerCertificate }

    /// Whether the client says that it is `ferry doctor`. For a server only.
    package var isPeerDoctor: Bool { engine.isPeerDoctor }

    /// Whether the peer's certificate has a chain to the trust roots. Meaningful for a server with
    /// ``TLSContext/ClientCertificates/judged(_:_:)``, after the handshake.
    package var isPeerChainVerified: Bool { engine.isPeerChainVerified }

    private init(engine: consuming TLSEngine, limits: Limits) {
        self.engine = engine
        self.limits = limits
    }

    /// Creates the handler of a client.
    ///
    /// - Parameter serverName: the host name or address that the server's certificate must be for. A host name is also
    ///   sent by SNI.
    /// - Throws: ``TLSError`` with `invalidConfiguration` or `internalFailure`.
    package convenience init(
        client context: TLSContext,
        serverName: String,
        limits: Limits = Limits()
    ) throws(TLSError) {
        precondition(context.role == .client, "This context is for servers")
        try self.init(engine: TLSEngine(context: context, peer: PeerName(serverName)), limits: limits)
    }

    /// Creates the handler of a server.
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
        // If a write fails inside a callback, the channel reads the rest and ends before the callback returns. The loop
        // that would process the rest is further up the stack, and would come too late.
        isStepping = false
        step(context: context)
        let isNews = state == .handshaking || state == .active && !isInputClosed
        let error = isNews ? endOfStreamError : nil
        // No promise may complete before the error was fired.
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
        if state == .handshaking { flights.received(at: context.eventLoop.now) }
        engine.ingest(ciphertext)
        step(context: context)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        let delivered = deliveredSinceRead
        deliveredSinceRead = false
        context.fireChannelReadComplete()
        // Without this line, a handler that asked for bytes would wait for ever behind records without data.
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

    /// An event that an owner sends towards the socket.
    package enum OutboundEvent: Sendable {
        /// End the bytes with close_notify, and leave the socket's output open.
        case closeNotify
    }

    package func triggerUserOutboundEvent(
        context: ChannelHandlerContext,
        event: Any,
        promise: EventLoopPromise<Void>?
    ) {
        guard case .closeNotify = event as? OutboundEvent else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        closeNotify(context: context)
        promise?.succeed()
    }

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
