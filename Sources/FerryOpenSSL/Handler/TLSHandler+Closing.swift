package import NIOCore
internal import NIOTLS

/// The ends of a connection: closed by the owner, closed by the peer, lost, failed.
extension TLSHandler {
    // MARK: By the owner

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .input: context.close(mode: .input, promise: promise)
        case .output: closeOutput(context: context, promise: promise)
        case .all: closeAll(context: context, promise: promise)
        }
    }

    private func closeOutput(context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        guard output.isOpen else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        writes.mark()
        switch state {
        case .idle, .handshaking:
            output = .ending(promise)
        case .open:
            encryptMarked(context: context)
            guard !state.isInputEnded else { return closeAll(context: context, promise: promise) }
            output = .ending(promise)
            engine.closeNotify()
            send(context: context)
        case .closing, .closed:
            promise?.fail(ChannelError.ioOnClosedChannel)
        }
    }

    private func closeAll(context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        switch state {
        case .idle, .closed:
            context.close(mode: .all, promise: promise)
        case .handshaking:
            // OpenSSL cannot send close_notify yet.
            finish(failing: ChannelError.ioOnClosedChannel)
            context.close(mode: .all, promise: promise)
        case .open:
            startClosing(context: context, promise: promise)
        case .closing:
            if let promise { state.closing?.promises.append(promise) }
        }
    }

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

    /// Sends close_notify, and leaves the socket's output open.
    ///
    /// After both sides have ended a socket, nothing can be learned of it any more. So an owner that wants to know whether
    /// the peer has everything ends the bytes this way, and closes when the peer has ended its side.
    private func closeNotify(context: ChannelHandlerContext) {
        guard state.isOpen, output.isOpen else { return }
        writes.mark()
        encryptMarked(context: context)
        output = .ended
        engine.closeNotify()
        send(context: context)
    }

    // MARK: By the peer

    /// Handles close_notify.
    func peerClosed(context: ChannelHandlerContext) {
        state.endInput()
        guard state.isOpen else { return complete(context: context) }
        if allowsRemoteHalfClosure(context) {
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            closeIfBothEnded(context: context)
        } else {
            context.fireUserInboundEventTriggered(TLSUserEvent.shutdownCompleted)
            if state.isOpen { startClosing(context: context, promise: nil) }
        }
    }

    /// Handles the socket's end of stream, while the channel stays open for sending.
    func socketInputClosed(context: ChannelHandlerContext) {
        let error = endOfStreamError
        switch state {
        case .idle, .closed:
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        case .handshaking:
            if let error { fail(error, context: context, lingering: false) }
        case .open:
            // After close_notify the event was already fired.
            guard let error else { return }
            state.endInput()
            context.fireErrorCaught(error)
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            closeIfBothEnded(context: context)
        case .closing:
            state.endInput()
            complete(context: context)
        }
    }

    /// The error that an end of stream means in the present state; nil if the end is expected.
    var endOfStreamError: TLSError? {
        switch state {
        case .handshaking:
            TLSError(
                .endOfStreamInHandshake,
                "The connection ended in the middle of the TLS handshake; check host and port, and that the peer "
                    + "accepts this side's certificate and TLS version."
            )
        case .open(.open):
            TLSError(
                .uncleanShutdown,
                "The connection ended without TLS close_notify; what was read last may be cut short."
            )
        case .idle, .open(.ended), .closing, .closed: nil
        }
    }

    private func closeIfBothEnded(context: ChannelHandlerContext) {
        if !output.isOpen, state.isOpen { startClosing(context: context, promise: nil) }
    }

    private func allowsRemoteHalfClosure(_ context: ChannelHandlerContext) -> Bool {
        (try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)) ?? false
    }

    // MARK: Failures

    /// Ends the connection with an error, which is fired once.
    ///
    /// A server lingers. If it closed a socket with unread input, the system would reset the connection, and the client
    /// would lose the alert that names the fault.
    func fail(_ error: TLSError, context: ChannelHandlerContext, lingering: Bool = true) {
        guard state.firesFailure else { return }
        let lingers = lingering && engine.role == .server && !state.isInputEnded
        let deadline = schedule(limits.shutdown, context: context) { $0.closeNow(context: context) }
        state.close(lingers ? .lingeringFailure : .failure, deadline: deadline)
        let abandoned = writes.takeAll().promises
        let halfClose = output.end()
        context.fireErrorCaught(error)
        if state.isClosing { sendLast(context: context) }
        halfClose?.fail(error)
        for promise in abandoned { promise.fail(error) }
    }

    // MARK: The end

    /// Sends close_notify and waits for the peer's.
    private func startClosing(context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        let deadline = schedule(limits.shutdown, context: context) { handler in
            let error = TLSError(.shutdownTimeout, "The peer did not answer the closing of the connection in time.")
            context.fireErrorCaught(error)
            handler.closeNow(context: context)
        }
        state.close(.close, deadline: deadline)
        if let promise { state.closing?.promises.append(promise) }
        let abandoned = writes.takeAll().promises
        engine.closeNotify()
        sendLast(context: context)
        for promise in abandoned { promise.fail(ChannelError.ioOnClosedChannel) }
    }

    /// Closes the channel when both sides are done.
    func complete(context: ChannelHandlerContext) {
        if state.closing?.isDone == true { closeNow(context: context) }
    }

    private func closeNow(context: ChannelHandlerContext) {
        guard !state.isClosed else { return }
        let promise = context.eventLoop.makePromise(of: Void.self)
        for waiting in state.end() { promise.futureResult.cascade(to: waiting) }
        finish(failing: ChannelError.ioOnClosedChannel)
        context.close(mode: .all, promise: promise)
    }

    /// Completes all pending promises. They complete last, when the state is final.
    func finish(failing error: any Error) {
        let closed = state.end()
        let abandoned = writes.takeAll().promises + takeEncrypted()
        let halfClose = output.end()
        for promise in abandoned { promise.fail(error) }
        halfClose?.fail(error)
        for promise in closed { promise.succeed() }
    }

    /// Returns a deadline for the next state, which cancels it.
    func schedule(
        _ delay: Duration,
        context: ChannelHandlerContext,
        _ action: @escaping (TLSHandler) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { action(self) }
    }
}
