package import NIOCore
internal import NIOTLS

/// TLS as a channel handler, for either side: ciphertext below, plaintext above.
///
/// ``State`` draws its life. The handler fires:
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

    let limits: Limits
    // TLSHandler+Closing.swift uses these, too.
    var engine: TLSEngine
    var state = State.idle
    var output = Output.open
    var writes = PendingWrites()
    /// The promises of writes whose ciphertext waits in the engine.
    private var encrypted: [EventLoopPromise<Void>] = []
    private var flights = HandshakeFlights()
    private var demand = ReadDemand.none
    // The marks against re-entrance, because a callback may call any method of the handler.
    private var isStepping = false
    private var isSending = false

    /// The number of bytes of ciphertext for this channel so far, handshake included. Bytes count when they are
    /// encrypted. So after a flush on a connection whose handshake is done, the number covers all earlier writes.
    package var ciphertextBytesProduced: UInt64 { engine.ciphertextBytesProduced }
    /// The number of bytes of ciphertext read from this channel so far.
    package private(set) var ciphertextBytesConsumed: UInt64 = 0
    /// The longest time from a flight of the handshake to the peer's next bytes; nil if no flight was answered. It is a
    /// round trip to the peer itself, where TCP measures only the way to a balancer.
    package var handshakeRoundTrip: TimeAmount? { flights.longest }
    /// The version that the handshake agreed on; nil before its end.
    package var version: TLSVersion? { engine.version }
    /// The cipher suite that the handshake agreed on, as OpenSSL names it; nil before its end.
    package var cipherSuite: String? { engine.cipherSuite }
    /// The certificates that the server sent, its own first. For a client only.
    package var serverCertificates: [CertificateSummary] { engine.serverCertificates }
    /// The contents of the peer's certificate; nil if the peer showed none.
    package var peerCertificate: CertificateSummary? { engine.peerCertificate }

    /// The server name that the client asks for (SNI), in small letters; nil without one. For a server only.
    package var requestedServerName: String? { engine.requestedServerName }

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
        processEvents(context: context)
        send(context: context)
        let error = endOfStreamError
        if let error {
            // No promise may complete before the error was fired. In these states no call of `close` waits.
            _ = state.end()
            context.fireErrorCaught(error)
        }
        finish(failing: error ?? TLSError(.closed, "The connection ended before the bytes could be sent."))
        context.fireChannelInactive()
    }

    /// Starts the handshake.
    private func begin(context: ChannelHandlerContext) {
        guard case .idle = state else { return }
        let deadline = schedule(limits.handshake, context: context) { handler in
            let error = TLSError(
                .handshakeTimeout,
                "The TLS handshake did not end within \(handler.limits.handshake); "
                    + "the peer may not speak TLS, or be overloaded."
            )
            handler.fail(error, context: context, lingering: false)
        }
        state = .handshaking(deadline: deadline)
        step(context: context)
        if state.isHandshaking { context.read() }
    }

    // MARK: Reading

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let ciphertext = unwrapInboundIn(data)
        ciphertextBytesConsumed += UInt64(ciphertext.readableBytes)
        guard !state.isClosed else { return }
        if state.isHandshaking { flights.received(at: context.eventLoop.now) }
        engine.ingest(ciphertext)
        step(context: context)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        let delivered = demand.endBurst()
        context.fireChannelReadComplete()
        // Without this line, a handler that asked for bytes would wait for ever behind records without data.
        if !delivered, demand.isOpen || state.isHandshaking || state.isClosing { context.read() }
    }

    package func read(context: ChannelHandlerContext) {
        demand.ask()
        context.read()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            socketInputClosed(context: context)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Processes the engine's events. A call from inside returns at once, because the outer call's loop does its work.
    private func step(context: ChannelHandlerContext) {
        guard !isStepping else { return }
        processEvents(context: context)
        send(context: context)
    }

    private func processEvents(context: ChannelHandlerContext) {
        let isInside = isStepping
        isStepping = true
        defer { isStepping = isInside }
        while !state.isClosed, let event = engine.step() {
            switch event {
            case .handshakeCompleted(let applicationProtocol):
                handshakeCompleted(applicationProtocol, context: context)
            case .plaintext(let buffer):
                // An owner that closed the channel wants no more data.
                guard state.isOpen else { continue }
                demand = .met(asksAgain: false)
                context.fireChannelRead(wrapInboundOut(buffer))
            case .peerClosed:
                peerClosed(context: context)
            case .failed(let error):
                fail(error, context: context)
            }
        }
    }

    private func handshakeCompleted(_ applicationProtocol: String?, context: ChannelHandlerContext) {
        guard state.isHandshaking else { return }
        state.open()
        // An earlier half close is already noted: `send` carries it out last.
        encryptMarked(context: context)
        if !output.isOpen { engine.closeNotify() }
        send(context: context)
        context.fireUserInboundEventTriggered(
            TLSUserEvent.handshakeCompleted(negotiatedProtocol: applicationProtocol)
        )
    }

    // MARK: Writing

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard output.isOpen else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        guard !state.isClosing, !state.isClosed else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        writes.append(unwrapOutboundIn(data), promise)
        if !state.isOpen, writes.bytes > limits.bufferedBytes {
            let limit = "\(limits.bufferedBytes) bytes were written before the TLS handshake ended"
            fail(TLSError(.bufferLimitExceeded, "More than \(limit); write less until then."), context: context)
        }
    }

    package func flush(context: ChannelHandlerContext) {
        writes.mark()
        if state.isOpen {
            encryptMarked(context: context)
            send(context: context)
        }
    }

    // Two rules keep re-entrance harmless. Encryption never calls out. Only the outermost `send` writes, so that records
    // leave in the order in which they were made.

    /// Encrypts the flushed writes. Their promises go out with the next ciphertext.
    func encryptMarked(context: ChannelHandlerContext) {
        let batch = writes.takeMarked()
        do throws(TLSError) {
            for buffer in batch.buffers { try engine.encrypt(buffer) }
            encrypted += batch.promises
        } catch {
            fail(error, context: context)
            for promise in batch.promises { promise.fail(error) }
        }
    }

    /// Writes all ciphertext, then shuts the output if that was asked for.
    func send(context: ChannelHandlerContext) {
        guard !isSending else { return }
        isSending = true
        defer { isSending = false }
        while true {
            let promises = takeEncrypted()
            if let ciphertext = engine.takeCiphertext() {
                if state.isHandshaking { flights.sent(at: context.eventLoop.now) }
                let promise = joined(promises, on: context.eventLoop)
                context.writeAndFlush(wrapOutboundOut(ciphertext), promise: promise)
            } else if !promises.isEmpty {
                for promise in promises { promise.succeed() }
            } else if case .ending = output, state.isOpen || state.isClosing {
                let promise = output.end()
                context.close(mode: .output, promise: promise)
            } else {
                return
            }
        }
    }

    /// Writes the last ciphertext, with close_notify or an alert, and notes when it has left.
    func sendLast(context: ChannelHandlerContext) {
        let left = context.eventLoop.makePromise(of: Void.self)
        left.futureResult.assumeIsolated().whenComplete { _ in
            self.state.closing?.hasSentLast = true
            if self.state.closing?.cause == .lingeringFailure { context.close(mode: .output, promise: nil) }
            self.complete(context: context)
        }
        encrypted.append(left)
        send(context: context)
    }

    /// Takes the promises of writes whose ciphertext waits in the engine.
    func takeEncrypted() -> [EventLoopPromise<Void>] {
        defer { encrypted = [] }
        return encrypted
    }

    /// Returns one promise that completes all of `promises`.
    private func joined(_ promises: [EventLoopPromise<Void>], on eventLoop: any EventLoop) -> EventLoopPromise<Void>? {
        guard promises.count > 1 else { return promises.first }
        let joined = eventLoop.makePromise(of: Void.self)
        joined.futureResult.whenComplete { result in
            for promise in promises { promise.completeWith(result) }
        }
        return joined
    }
}

@available(*, unavailable)
extension TLSHandler: Sendable {}
