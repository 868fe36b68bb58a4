internal import NIOCore
internal import NIOTLS

extension TLSHandler {
    /// Starts the handshake.
    func begin(context: ChannelHandlerContext) {
        guard state == .idle else { return }
        state = .handshaking
        schedule(limits.handshake, context: context) { handler in
            let error = TLSError(
                .handshakeTimeout,
                "The TLS handshake did not end within \(handler.limits.handshake); "
                    + "the peer may not speak TLS, or be overloaded."
            )
            handler.fail(error, context: context, lingering: false)
        }
        step(context: context)
        if state == .handshaking { context.read() }
    }

    /// Processes the engine's events. A call from inside returns at once, because the outer call's loop does its work.
    func step(context: ChannelHandlerContext) {
        guard !isStepping else { return }
        isStepping = true
        while state != .closed, let event = engine.step() {
            switch event {
            case .handshakeCompleted(let applicationProtocol):
                handshakeCompleted(applicationProtocol, context: context)
            case .plaintext(let buffer):
                // An owner that closed the channel wants no more data.
                guard state == .active else { continue }
                wantsRead = false
                deliveredSinceRead = true
                context.fireChannelRead(wrapInboundOut(buffer))
            case .peerClosed:
                peerClosed(context: context)
            case .failed(let error):
                fail(error, context: context)
            }
        }
        isStepping = false
        send(context: context)
    }

    private func handshakeCompleted(_ applicationProtocol: String?, context: ChannelHandlerContext) {
        guard state == .handshaking else { return }
        state = .active
        deadline?.cancel()
        deadline = nil
        // An earlier half close is already noted: `send` carries it out last.
        encryptMarked(context: context)
        if isOutputClosed { engine.closeNotify() }
        send(context: context)
        context.fireUserInboundEventTriggered(
            TLSUserEvent.handshakeCompleted(negotiatedProtocol: applicationProtocol)
        )
    }

    private func peerClosed(context: ChannelHandlerContext) {
        isInputClosed = true
        guard state == .active else { return complete(context: context) }
        if allowsRemoteHalfClosure(context) {
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            if isOutputClosed, state == .active { startClosing(context: context, promise: nil) }
        } else {
            context.fireUserInboundEventTriggered(TLSUserEvent.shutdownCompleted)
            if state == .active { startClosing(context: context, promise: nil) }
        }
    }

    /// Handles the socket's end of stream, while the channel stays open for sending.
    func socketInputClosed(context: ChannelHandlerContext) {
        switch state {
        case .idle, .closed:
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        case .handshaking:
            fail(endOfStreamError, context: context, lingering: false)
        case .active:
            // After close_notify the event was already fired.
            guard !isInputClosed else { return }
            isInputClosed = true
            context.fireErrorCaught(endOfStreamError)
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            if isOutputClosed, state == .active { startClosing(context: context, promise: nil) }
        case .closing:
            isInputClosed = true
            complete(context: context)
        }
    }

    /// The error that an end of stream means in the present state.
    var endOfStreamError: TLSError {
        state == .handshaking
            ? TLSError(
                .endOfStreamInHandshake,
                "The connection ended in the middle of the TLS handshake; check host and port, and that the peer "
                    + "accepts this side's certificate and TLS version."
            )
            : TLSError(
                .uncleanShutdown,
                "The connection ended without TLS close_notify; what was read last may be cut short."
            )
    }

    private func allowsRemoteHalfClosure(_ context: ChannelHandlerContext) -> Bool {
        (try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)) ?? false
    }
}
