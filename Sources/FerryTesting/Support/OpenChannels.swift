internal import NIOCore
internal import Synchronization

/// The connections that a simulated server has accepted and that are still open. Safe from any thread.
final class OpenChannels: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Counts a connection among the open ones until it is closed.
    ///
    /// - Throws: an error when the server has stopped meanwhile.
    func add(_ channel: any Channel) throws {
        let id = ObjectIdentifier(channel)
        let isAdded = self.state.withLock { state in
            guard !state.isStopped else { return false }
            state.channels[id] = channel
            return true
        }
        guard isAdded else { throw ChannelError.alreadyClosed }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { _ = $0.channels.removeValue(forKey: id) }
        }
    }

    /// Closes the listener and every connection past its TLS, now and from now on.
    ///
    /// - Parameter limit: how long to wait for the sockets to close; what is then still open closes later by itself.
    func stop(_ listener: any Channel, within limit: Duration) async {
        let eventLoop = listener.eventLoop
        let promise = eventLoop.makePromise(of: Void.self)
        let deadline = eventLoop.scheduleTask(in: TimeAmount(limit)) { promise.succeed() }
        listener.close(promise: nil)
        listener.closeFuture.whenComplete { _ in
            EventLoopFuture.andAllComplete(self.closeAll(), on: eventLoop).cascade(to: promise)
        }
        // Neither way to complete the promise fails it.
        _ = try? await promise.futureResult.get()
        deadline.cancel()
    }

    private func closeAll() -> [EventLoopFuture<Void>] {
        let channels = self.state.withLock { state in
            state.isStopped = true
            return Array(state.channels.values)
        }
        return channels.map { channel in
            channel.eventLoop.execute { Self.close(channel) }
            return channel.closeFuture
        }
    }

    private static func close(_ channel: any Channel) {
        let operations = channel.pipeline.syncOperations
        if let socket = try? operations.context(handlerType: SocketHandler.self) {
            socket.close(promise: nil)
        } else {
            channel.close(promise: nil)
        }
    }
}
