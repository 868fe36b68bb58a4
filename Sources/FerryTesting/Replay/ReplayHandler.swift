internal import NIOCore
internal import NIOTLS

/// Runs one connection's ``ReplayMachine`` on its channel.
final class ReplayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time for the replay is over.
    struct Expiry {}

    private let connection: Int
    private var machine: ReplayMachine
    private let run: ReplayRun
    private let socket: SocketHandler
    /// Whether the connection is ready only after a handshake.
    private let isSecure: Bool
    private let start = NIODeadline.now()
    private var isOpen = false
    private var sawEnd = false
    private var isOver = false

    init(_ connection: Int, _ machine: ReplayMachine, of run: ReplayRun, socket: SocketHandler, isSecure: Bool) {
        self.connection = connection
        self.machine = machine
        self.run = run
        self.socket = socket
        self.isSecure = isSecure
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive, !self.isSecure { self.open(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        if !self.isSecure { self.open(context) }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.step(context) { machine, now throws(ReplayMismatch) in
            try machine.received(bytes.readableBytesView, at: now)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted: self.open(context)
        case ChannelEvent.inputClosed: self.end(context)
        case is Expiry: self.conclude(self.machine.missing.map { .failure($0) } ?? .success(()), context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // An error of an open connection ends it, and its end is what the transcript speaks of.
        if !self.isOpen { self.conclude(.failure(error), context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end(context)
        if !self.isOver { self.conclude(self.machine.missing.map { .failure($0) } ?? .success(()), context) }
        context.fireChannelInactive()
    }

    private func open(_ context: ChannelHandlerContext) {
        guard !self.isOpen else { return }
        self.isOpen = true
        self.step(context) { machine, now in machine.opened(at: now) }
    }

    private func end(_ context: ChannelHandlerContext) {
        guard self.isOpen, !self.sawEnd else { return }
        self.sawEnd = true
        self.step(context) { machine, now throws(ReplayMismatch) in try machine.receivedEnd(at: now) }
    }

    private func step(
        _ context: ChannelHandlerContext,
        _ input: (inout ReplayMachine, Duration) throws(ReplayMismatch) -> [ReplayAction]
    ) {
        guard !self.isOver else { return }
        do throws(ReplayMismatch) {
            self.perform(try input(&self.machine, self.now), context)
        } catch {
            return self.conclude(.failure(error), context)
        }
        self.run.moved(self.connection, to: self.machine.position)
        if self.machine.isFinished { self.conclude(.success(()), context) }
    }

    private func perform(_ actions: [ReplayAction], _ context: ChannelHandlerContext) {
        for action in actions {
            switch action {
            case .send(let bytes): context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .halfClose: context.close(mode: .output, promise: nil)
            case .end: context.close(promise: nil)
            case .reset: self.socket.reset()
            case .wake(let time):
                let deadline = self.start + TimeAmount(time)
                context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
                    guard context.channel.isActive else { return }
                    self.step(context) { machine, now in machine.timePassed(at: now) }
                }
            }
        }
    }

    private func conclude(_ result: Result<Void, any Error>, _ context: ChannelHandlerContext) {
        guard !self.isOver else { return }
        self.isOver = true
        self.run.concluded(self.connection, result)
        if case .failure = result { self.socket.reset() } else { context.close(promise: nil) }
    }

    private var now: Duration { Duration(NIODeadline.now() - self.start) }
}
