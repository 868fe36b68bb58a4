internal import FerryServer
internal import NIOCore
internal import NIOTLS

/// The handler that runs one connection's ``ReplayMachine`` on its channel.
final class ReplayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The event that the replay's time is over.
    struct Expiry {}

    private let connection: Int
    private var machine: ReplayMachine
    private let run: ReplayRun
    private let socket: SocketHandler
    /// True if the connection is ready only after a TLS handshake.
    private let isSecure: Bool
    private let start = NIODeadline.now()
    private var isOpen = false
    private var sawEnd = false
    private var isOver = false
    /// The number of writes that the system has not yet taken. Closing would drop them.
    private var unwritten = 0
    /// True if the replay has succeeded and only waits for ``unwritten``.
    private var isLeaving = false

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
        case is Expiry: self.expire(context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // An error of an open connection is not reported: it ends the connection, and the machine compares the end with
        // the transcript.
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
        self.run.moved(self.connection, to: self.machine.position, events: self.machine.eventCount)
        if self.machine.isFinished { self.conclude(.success(()), context) }
    }

    private func perform(_ actions: [ReplayAction], _ context: ChannelHandlerContext) {
        for action in actions {
            switch action {
            case .send(let bytes): self.send(bytes, context)
            case .halfClose: context.close(mode: .output, promise: nil)
            // An end finishes the machine, and a finished machine's connection is closed anyway.
            case .end: break
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

    private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        let promise = context.eventLoop.makePromise(of: Void.self)
        self.unwritten += 1
        promise.futureResult.assumeIsolated().whenComplete { _ in
            // A write fails if the peer has closed. It counts as done, because the peer needs no more bytes.
            self.unwritten -= 1
            if self.isLeaving, self.unwritten == 0 { self.leave(.success(()), context) }
        }
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: promise)
    }

    private func conclude(_ result: Result<Void, any Error>, _ context: ChannelHandlerContext) {
        guard !self.isOver else { return }
        self.isOver = true
        if case .success = result, self.unwritten > 0 {
            self.isLeaving = true
        } else {
            self.leave(result, context)
        }
    }

    private func leave(_ result: Result<Void, any Error>, _ context: ChannelHandlerContext) {
        self.isLeaving = false
        self.run.concluded(self.connection, result)
        if case .failure = result { self.socket.reset() } else { context.close(promise: nil) }
    }

    private func expire(_ context: ChannelHandlerContext) {
        guard !self.isOver || self.isLeaving else { return }
        self.isOver = true
        let unread = ReplayMismatch(
            line: 0,
            connection: self.connection,
            expected: "the peer to read all that was sent",
            found: "it did not in time"
        )
        let missing = self.isLeaving ? nil : self.machine.missing
        let fault = missing ?? (self.unwritten > 0 ? unread : nil)
        self.leave(fault.map { .failure($0) } ?? .success(()), context)
    }

    private var now: Duration { Duration(NIODeadline.now() - self.start) }
}
