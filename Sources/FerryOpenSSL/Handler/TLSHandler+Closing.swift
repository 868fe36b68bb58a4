package import NIOCore

extension TLSHandler {
    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .input: context.close(mode: .input, promise: promise)
        case .output: closeOutput(context: context, promise: promise)
        case .all: closeAll(context: context, promise: promise)
        }
    }

    private func closeOutput(context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        guard !isOutputClosed else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        writes.mark()
        switch state {
        case .idle, .handshaking:
            isOutputClosed = true
            outputShutdown = OutputShutdown(promise: promise)
        case .active:
            encryptMarked(context: context)
            guard !isInputClosed else { return startClosing(context: context, promise: promise) }
            isOutputClosed = true
            outputShutdown = OutputShutdown(promise: promise)
            engine.closeNotify()
            send(context: context)
        case .closing, .closed:
            promise?.fail(ChannelError.ioOnClosedChannel)
        }
    }

    /// Sends close_notify, and leaves the socket's output open.
    ///
    /// After both sides have ended a socket, nothing can be learned of it any more. So an owner that wants to know whether
    /// the peer has everything ends the bytes this way, and closes when the peer has ended its side.
    func closeNotify(context: ChannelHandlerContext) {
        guard state == .active, !isOutputClosed else { return }
        writes.mark()
        encryptMarked(context: context)
        isOutputClosed = true
        engine.closeNotify()
        send(context: context)
    }

    private func closeAll(context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        switch state {
        case .idle, .closed:
            context.close(mode: .all, promise: promise)
        case .handshaking:
            // OpenSSL cannot send close_notify yet.
            finish(failing: ChannelError.ioOnClosedChannel)
            context.close(mode: .all, promise: promise)
        case .active:
            startClosing(context: context, promise: promise)
        case .closing:
            if let promise { closePromises.append(promise) }
        }
    }

    /// Sends close_notify and waits for the peer's.
    func startClosing(context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        state = .closing
        if let promise { closePromises.append(promise) }
        let abandoned = writes.takeAll().promises
        schedule(limits.shutdown, context: context) { handler in
            let error = TLSError(.shutdownTimeout, "The peer did not answer the closing of the connection in time.")
            context.fireErrorCaught(error)
            handler.closeNow(context: context)
        }
        engine.closeNotify()
        sendLast(context: context)
        for promise in abandoned { promise.fail(ChannelError.ioOnClosedChannel) }
    }

    /// Ends the connection with an error, which is fired once.
    ///
    /// A server lingers. If it closed a socket with unread input, the system would reset the connection, and the client
    /// would lose the alert that names the fault.
    func fail(_ error: TLSError, context: ChannelHandlerContext, lingering: Bool = true) {
        guard state != .closed, !hasFailed else { return }
        hasFailed = true
        state = .closing
        lingers = lingering && engine.role == .server && !isInputClosed
        if !lingers { isInputClosed = true }
        schedule(limits.shutdown, context: context) { $0.closeNow(context: context) }
        let abandoned = writes.takeAll().promises
        let shutting = outputShutdown
        outputShutdown = nil
        context.fireErrorCaught(error)
        if state == .closing { sendLast(context: context) }
        shutting?.promise?.fail(error)
        for promise in abandoned { promise.fail(error) }
    }

    /// Closes the channel when both sides are done.
    func complete(context: ChannelHandlerContext) {
        if state == .closing, hasSentLast, isInputClosed { closeNow(context: context) }
    }

    private func closeNow(context: ChannelHandlerContext) {
        guard state != .closed else { return }
        let promise = context.eventLoop.makePromise(of: Void.self)
        for waiting in closePromises { promise.futureResult.cascade(to: waiting) }
        closePromises = []
        finish(failing: ChannelError.ioOnClosedChannel)
        context.close(mode: .all, promise: promise)
    }

    /// Completes all pending promises. They complete last, when the state is final.
    func finish(failing error: any Error) {
        state = .closed
        deadline?.cancel()
        deadline = nil
        let abandoned = writes.takeAll().promises + encrypted
        let closed = closePromises
        let shutting = outputShutdown
        encrypted = []
        closePromises = []
        outputShutdown = nil
        for promise in abandoned { promise.fail(error) }
        shutting?.promise?.fail(error)
        for promise in closed { promise.succeed() }
    }

    /// Sets the deadline of the present state. A state has only one.
    func schedule(
        _ delay: Duration,
        context: ChannelHandlerContext,
        _ action: @escaping (TLSHandler) -> Void
    ) {
        deadline?.cancel()
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { action(self) }
    }
}
