internal import NIOCore

// The handler's output to the socket. Two rules keep re-entrance harmless. Encryption never calls out. Only the
// outermost `send` writes, so that records leave in the order in which they were made.
extension TLSHandler {
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
        while true {
            let promises = encrypted
            encrypted = []
            if let ciphertext = engine.takeCiphertext() {
                if state == .handshaking { flights.sent(at: context.eventLoop.now) }
                let promise = joined(promises, on: context.eventLoop)
                context.writeAndFlush(wrapOutboundOut(ciphertext), promise: promise)
            } else if !promises.isEmpty {
                for promise in promises { promise.succeed() }
            } else if let shutting = outputShutdown, state == .active || state == .closing {
                outputShutdown = nil
                context.close(mode: .output, promise: shutting.promise)
            } else {
                break
            }
        }
        isSending = false
    }

    /// Writes the last ciphertext, with close_notify or an alert, and notes when it has left.
    func sendLast(context: ChannelHandlerContext) {
        let left = context.eventLoop.makePromise(of: Void.self)
        left.futureResult.assumeIsolated().whenComplete { _ in
            self.hasSentLast = true
            if self.lingers, self.state == .closing { context.close(mode: .output, promise: nil) }
            self.complete(context: context)
        }
        encrypted.append(left)
        send(context: context)
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
