internal import NIOCore

/// The handler of an ``AcceptGate``, on the channel that listens.
///
/// The channel must accept one connection for each read. If a read accepted several, the connections could exceed the
/// limit.
final class AcceptHandler: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never
    typealias OutboundOut = Never

    /// The connection that the gate holds. SwiftNIO has not registered its channel yet, and reads nothing from it.
    private struct Held {
        let channel: any Channel
        /// Whether ``onWait`` has reported that the connection waits.
        var isTold = false
        /// The next check whether the peer is still there.
        var timer: Scheduled<Void>?
    }

    /// The time between two checks whether a held connection still has a peer.
    private static let pause: TimeAmount = .milliseconds(250)

    private var gate: AcceptGate
    private var held: Held?
    private var context: ChannelHandlerContext?
    /// Whether connections use TLS. A TLS peer that has ended its side counts as gone, because it cannot complete the
    /// handshake.
    private let isEncrypted: Bool
    private let onWait: (Bool) -> Void

    /// - Parameter onWait: called with true when a connection begins to wait because `limit` connections are served,
    ///   and with false when this wait ends.
    init(limit: Int, isEncrypted: Bool, onWait: @escaping (Bool) -> Void) {
        self.gate = AcceptGate(limit: limit)
        self.isEncrypted = isEncrypted
        self.onWait = onWait
    }

    /// Changes the largest number of connections that are served at a time.
    func limit(to limit: Int) { self.gate.limit = limit }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.dropHeld()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = self.unwrapInboundIn(data)
        switch self.gate.accepted() {
        case .served:
            self.serve(channel, context)
        case .held:
            self.held = Held(channel: channel)
            self.look(at: channel, context)
        }
    }

    func read(context: ChannelHandlerContext) {
        if self.gate.wantsToAccept() { context.read() }
    }

    private func serve(_ channel: any Channel, _ context: ChannelHandlerContext) {
        let closed = channel.closeFuture.hop(to: context.eventLoop)
        closed.assumeIsolated().whenComplete { _ in
            guard case .serveHeld(let accepts) = self.gate.closed() else { return }
            let held = self.takeHeld()
            guard let context = self.context, let held else { return }
            self.serve(held, context)
            if accepts { context.read() }
        }
        context.fireChannelRead(self.wrapInboundOut(channel))
    }

    // MARK: The connection that is held

    /// Checks the held connection now, and again after each ``pause``. If its peer has gone, the connection is
    /// closed. Otherwise ``onWait`` reports once that the connection waits.
    private func look(at channel: any Channel, _ context: ChannelHandlerContext) {
        self.hasPeerLeft(channel).hop(to: context.eventLoop).assumeIsolated().whenSuccess { hasLeft in
            guard self.held?.channel === channel else { return }
            guard !hasLeft else { return self.dropHeld() }
            self.held?.timer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
                self.look(at: channel, context)
            }
            guard self.held?.isTold == false else { return }
            self.held?.isTold = true
            self.onWait(true)
        }
    }

    /// Whether the peer has gone. If the system does not report the connection's state, the peer counts as present.
    private func hasPeerLeft(_ channel: any Channel) -> EventLoopFuture<Bool> {
        guard let socket = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeSucceededFuture(false)
        }
        let isEncrypted = self.isEncrypted
        return TCPInfo.get(socket).map { $0.wasReset || isEncrypted && $0.hasPeerEnded }.recover { _ in false }
    }

    private func takeHeld() -> (any Channel)? {
        guard let held = self.held else { return nil }
        self.held = nil
        held.timer?.cancel()
        if held.isTold { self.onWait(false) }
        return held.channel
    }

    private func dropHeld() {
        guard let channel = self.takeHeld() else { return }
        channel.close(promise: nil)
        if self.gate.heldLeft() { self.context?.read() }
    }
}
