internal import FerryServer
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Runs an ``HTTPExchange`` on a connection. NIOHTTP1 reads and writes HTTP. Its pipelining handler passes one
/// request at a time.
final class HTTPServerHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The largest number of bytes in one read. A read of 20-byte requests becomes objects of 30 times its size
    /// before the first answer.
    private static let readSize = 8192
    /// The largest body, in bytes, that the system takes at once if the client has taken all earlier answers.
    private static let shortAnswer = 16_384

    private let limits: HTTPServer.Limits
    private var exchange: HTTPExchange
    private let waiting: WaitingConnections
    /// The wait for a request, for the rest of a request, or for the client to take its answers or to close; nil while
    /// the owner makes an answer.
    private var wait: (id: WaitingConnections.Wait, kind: WaitingConnections.Kind)?
    private let socket: SocketHandler
    private let respond: HTTPServer.Respond
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?
    /// The owner's answer, until the answer is sent; nil if the exchange refuses the request with a status.
    private var answer: HTTPServerAnswer?
    /// Whether ``answer`` has no body on the wire (RFC 9110, section 9.3.2).
    private var isHead = false
    /// The bytes of the request that are noted in ``waiting``.
    private var held = 0
    private var delayed = Delayed.nothing

    /// The work that waits until the client has taken its answers.
    private enum Delayed {
        case nothing
        case read
        /// The request of the exchange, and the next read. The owner has not seen the request.
        case request
    }

    init(
        _ limits: HTTPServer.Limits,
        waiting: WaitingConnections,
        socket: SocketHandler,
        respond: @escaping HTTPServer.Respond
    ) {
        self.limits = limits
        self.exchange = HTTPExchange(bodyLimit: limits.body)
        self.waiting = waiting
        self.socket = socket
        self.respond = respond
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.waiting.connected()
        do {
            try context.pipeline.syncOperations.configureHTTPServerPipeline(position: .before(self))
            try context.channel.syncOptions?.setOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize)
            )
            try context.channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            self.startTimer(self.limits.opening)
            self.beginWait(.other)
        } catch {
            context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.endWait()
        self.noteHeld(0)
        self.waiting.disconnected()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            if self.wait?.kind != .other { self.beginWait(.other) }
            self.startTimer(self.limits.request)
            self.perform(self.exchange.received(head))
        case .body(let bytes):
            let action = self.exchange.received(bytes)
            self.noteHeld(self.exchange.heldBytes)
            self.perform(action)
        case .end: self.perform(self.exchange.receivedEnd())
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A client that has ended its side sends no further request.
        let isEnd = (event as? ChannelEvent) == .inputClosed
        if isEnd || event is ChannelShouldQuiesceEvent { self.perform(self.exchange.end()) }
        context.fireUserInboundEventTriggered(event)
    }

    /// Delays the next read while the client takes no answers. Otherwise a client that sends requests and reads no
    /// answer would fill the memory with its answers.
    func read(context: ChannelHandlerContext) {
        guard !context.channel.isWritable else { return context.read() }
        if case .nothing = self.delayed { self.delayed = .read }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            let delayed = self.delayed
            self.delayed = .nothing
            switch delayed {
            case .nothing: self.noteTaken()
            case .read:
                self.noteTaken()
                context.read()
            case .request:
                self.handle()
                context.read()
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // NIOHTTP1 has already answered bytes that are not HTTP with 400, if no other answer was being sent.
        context.close(promise: nil)
    }

    private func perform(_ action: HTTPExchange.Action) {
        guard let context else { return }
        switch action {
        case .none: break
        case .close: context.close(promise: nil)
        case .askForBody:
            context.writeAndFlush(
                self.wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))),
                promise: nil
            )
        case .handle: self.handle()
        case .answer(let status, let closes): self.send(status, closes: closes)
        }
    }

    /// Makes the answer to the request that has come. If the client takes no answers, the work is delayed.
    ///
    /// NIOHTTP1 passes the next request as soon as an answer is written, also if the client takes no answers. One
    /// read brings hundreds of small requests, so without the delay their answers would fill the memory.
    private func handle() {
        guard let context, let request = self.exchange.request else { return }
        guard context.channel.isWritable else {
            self.delayed = .request
            return self.startTimer(self.limits.pause)
        }
        self.timer?.cancel()
        self.endWait()
        let eventLoop = context.eventLoop
        let box = NIOLoopBound(self, eventLoop: eventLoop)
        let respond = self.respond
        let received = ContinuousClock.now
        // A connection has one such task at a time. The task makes its answer also if the client has left, so the
        // owner must bound the time of the task.
        Task {
            let answer = await respond(request, received)
            eventLoop.execute { box.value.answered(answer) }
        }
    }

    private func answered(_ answer: HTTPServerAnswer) {
        self.isHead = self.exchange.request?.method == "HEAD"
        self.answer = answer
        self.perform(self.exchange.answered(answer.status))
    }

    private func send(_ status: Int, closes: Bool) {
        self.noteHeld(self.exchange.heldBytes)
        let answer = self.answer.take() ?? HTTPServerAnswer(status: status)
        guard let context else { return }
        var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: answer.headers)
        head.headers.add(name: "content-length", value: "\(answer.body.count)")
        if closes { head.headers.add(name: "connection", value: "close") }
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        let body = answer.isCut ? answer.body.prefix(answer.body.count / 2) : answer.body[...]
        if !body.isEmpty, !self.isHead {
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        }
        guard !answer.isCut else {
            context.flush()
            return self.socket.reset()
        }
        // The timer and the wait begin before the write. The end of the answer may bring the next request at once,
        // which has its own timer and ends the wait.
        self.startTimer(closes ? self.limits.request : self.limits.pause)
        let isTaken = context.channel.isWritable && answer.body.count <= Self.shortAnswer
        self.beginWait(closes ? .other : isTaken ? .next : .taking)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        if context.channel.isWritable { self.noteTaken() }
        if closes { context.close(mode: .output, promise: nil) }
    }

    private func noteHeld(_ count: Int) {
        self.waiting.hold(count - self.held)
        self.held = count
    }

    /// Notes that the client has taken its answers.
    private func noteTaken() {
        if self.wait?.kind == .taking { self.beginWait(.next) }
    }

    private func beginWait(_ kind: WaitingConnections.Kind) {
        guard let context else { return }
        self.endWait()
        let eventLoop = context.eventLoop
        let box = NIOLoopBound(self, eventLoop: eventLoop)
        let id = self.waiting.begin(kind) { eventLoop.execute { box.value.makeRoom() } }
        self.wait = (id, kind)
    }

    private func endWait() {
        if let wait { self.waiting.end(wait.id) }
        self.wait = nil
    }

    /// Closes the connection, because a new connection needs its place or all bodies together are too long. TLS sends
    /// no close_notify, because a close_notify would wait for a client that may be gone.
    private func makeRoom() {
        guard let context else { return }
        // The client of a delayed request takes no answers, so this connection is closed. Any other request that has
        // come whole in the meantime gets its answer first.
        if case .request = self.delayed { return SocketHandler.close(context.channel) }
        if self.exchange.end() == .close || self.exchange.request == nil { SocketHandler.close(context.channel) }
    }

    private func startTimer(_ limit: Duration) {
        guard let context else { return }
        self.timer?.cancel()
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) {
            if case .request = self.delayed { return SocketHandler.close(context.channel) }
            self.perform(self.exchange.timedOut())
        }
    }
}
