internal import FerryServer
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Runs an ``HTTPExchange`` on a connection. NIOHTTP1 reads and writes HTTP; its pipelining handler passes one request at a
/// time.
final class HTTPServerHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    struct Answer: Sendable {
        var status: Int
        var body: [UInt8] = []
        var contentType: String?
    }

    /// How long a connection may wait for the next request.
    static let idleLimit: TimeAmount = .seconds(30)
    /// The time from the head of a request to its end, and from a last answer to the close.
    static let bodyLimit: TimeAmount = .seconds(10)

    /// The bytes of one read. A read of 20-byte requests becomes objects of 30 times its size before the first answer.
    private static let readSize = 8192

    private var exchange: HTTPExchange
    private let waiting: WaitingConnections
    /// Present while the connection waits for a request, for the rest of one, or for the client's end.
    private var wait: WaitingConnections.Wait?
    private let respond: @Sendable (HTTPExchange.Request, _ received: ContinuousClock.Instant) async -> Answer
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?
    private var body: [UInt8] = []
    private var contentType: String?
    /// The bytes of the request that are noted in ``waiting``.
    private var held = 0
    /// Whether a read waits until the client has taken its answers.
    private var holdsRead = false

    init(
        bodyLimit: Int,
        waiting: WaitingConnections,
        respond: @escaping @Sendable (HTTPExchange.Request, _ received: ContinuousClock.Instant) async -> Answer
    ) {
        self.exchange = HTTPExchange(bodyLimit: bodyLimit)
        self.waiting = waiting
        self.respond = respond
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        do {
            try context.pipeline.syncOperations.configureHTTPServerPipeline(position: .before(self))
            try context.channel.syncOptions?.setOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize)
            )
            try context.channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            // With TLS this covers the handshake, whose own limit is shorter.
            self.startTimer(Self.idleLimit)
            self.beginWait(isNew: true)
        } catch {
            context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.endWait()
        self.noteHeld(0)
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.startTimer(Self.bodyLimit)
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

    /// A client that sends requests and reads no answer is not read, or its answers would fill the memory.
    func read(context: ChannelHandlerContext) {
        if context.channel.isWritable { context.read() } else { self.holdsRead = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, self.holdsRead {
            self.holdsRead = false
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // NIOHTTP1 has answered what is not HTTP with 400.
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

    private func handle() {
        self.timer?.cancel()
        self.endWait()
        guard let context, let request = self.exchange.request else { return }
        let eventLoop = context.eventLoop
        let box = NIOLoopBound(self, eventLoop: eventLoop)
        let respond = self.respond
        let received = ContinuousClock.now
        // One for each connection. Its answer has a deadline, and a client that leaves does not take it away.
        Task {
            let answer = await respond(request, received)
            eventLoop.execute { box.value.answered(answer) }
        }
    }

    private func answered(_ answer: Answer) {
        (self.body, self.contentType) = (answer.body, answer.contentType)
        self.perform(self.exchange.answered(answer.status))
    }

    private func send(_ status: Int, closes: Bool) {
        self.noteHeld(self.exchange.heldBytes)
        guard let context else { return }
        var headers = HTTPHeaders([("content-length", "\(self.body.count)")])
        if let contentType { headers.add(name: "content-type", value: contentType) }
        if closes { headers.add(name: "connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        if !self.body.isEmpty {
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: self.body)))), promise: nil)
        }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        (self.body, self.contentType) = ([], nil)
        self.startTimer(closes ? Self.bodyLimit : Self.idleLimit)
        if closes { context.close(mode: .output, promise: nil) }
        self.beginWait(isNew: false)
    }

    private func noteHeld(_ count: Int) {
        self.waiting.hold(count - self.held)
        self.held = count
    }

    private func beginWait(isNew: Bool) {
        guard let context else { return }
        self.endWait()
        let eventLoop = context.eventLoop
        let box = NIOLoopBound(self, eventLoop: eventLoop)
        self.wait = self.waiting.begin(isNew: isNew) { eventLoop.execute { box.value.makeRoom() } }
    }

    private func endWait() {
        if let wait { self.waiting.end(wait) }
        self.wait = nil
    }

    /// Another client needs the place of this connection. A close_notify would wait for a client that may be gone.
    private func makeRoom() {
        guard let context else { return }
        // A request that has come since is answered.
        if self.exchange.end() == .close || self.exchange.request == nil { SocketHandler.close(context.channel) }
    }

    private func startTimer(_ limit: TimeAmount) {
        guard let context else { return }
        self.timer?.cancel()
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.perform(self.exchange.timedOut())
        }
    }
}
