internal import FerryOpenSSL
internal import FerryProxy
internal import FerryServer
internal import NIOCore
internal import NIOHTTP1
internal import NIOTLS

/// A connection to one origin, for one request at a time: the last handler of its channel.
///
/// ```
///              TCP, and TLS        exchange             answer
///    opening ────────────▶ ready ──────────▶ busy ─────────────▶ ready
///       │                    │                 │
///       └────────────────────┴──── failure ────┴──▶ ended
/// ```
///
/// `@unchecked Sendable`: all members but ``eventLoop`` and ``origin`` are used on the event loop only.
final class HTTPConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    enum Result {
        case answer(HTTPClientResponse)
        case failed(HTTPFault)
    }

    private enum State {
        /// The closure waits for the end of the opening.
        case opening(((HTTPFault?) -> Void)?)
        case ready
        case busy((Result) -> Void)
        case ended(HTTPFault)
    }

    let eventLoop: any EventLoop
    let origin: HTTPURL.Origin
    private var state = State.opening(nil)
    /// The answer to the request under way. It is not a part of ``state``, because changes of the state would copy
    /// its bytes.
    private var answer = HTTPAnswerMachine(limit: 0)
    /// The bytes of the request's body that are not written yet.
    private var unsent: ArraySlice<UInt8> = []
    private let socket: SocketHandler
    private var context: ChannelHandlerContext?
    /// Whether the system took all bytes of the last request.
    private var isWritten = true
    /// Whether the server keeps the connection after the last answer.
    private var isKept = true
    /// The closure to call when the connection can no longer be used.
    private var onEnd: (() -> Void)?
    /// The timer that ends the wait for the next request.
    private var idleTimer: Scheduled<Void>?

    /// The number of pieces of a slow body, and the pause between two pieces.
    private static let slowPieces = 8
    private static let slowPause = TimeAmount.milliseconds(20)

    /// - Parameter socket: the first handler of the channel.
    init(_ origin: HTTPURL.Origin, _ socket: SocketHandler, on eventLoop: any EventLoop) {
        self.origin = origin
        self.socket = socket
        self.eventLoop = eventLoop
    }

    /// Whether a request can be sent now.
    var isReady: Bool { if case .ready = self.state { self.isWritten && self.isKept } else { false } }

    /// The progress of the connection or of its request.
    var stage: HTTPFault.Stage {
        switch self.state {
        case .opening: .shaking
        case .ready, .busy, .ended: self.answer.stage
        }
    }

    /// Waits for the next request.
    ///
    /// - Parameters:
    ///   - expire: called when the time is over.
    ///   - onEnd: called when the connection ends before that time.
    func idle(for time: TimeAmount, expire: @escaping () -> Void, onEnd: @escaping () -> Void) {
        self.endIdling()
        self.idleTimer = self.eventLoop.assumeIsolated().scheduleTask(in: time, expire)
        self.onEnd = onEnd
    }

    /// Ends the wait. Without this call, each request of a busy connection would leave a timer behind.
    func endIdling() {
        self.idleTimer?.cancel()
        (self.idleTimer, self.onEnd) = (nil, nil)
    }

    /// Calls `body` with nil when the connection is open, or with the fault that ended the connection.
    func whenOpen(_ body: @escaping (HTTPFault?) -> Void) {
        switch self.state {
        case .opening: self.state = .opening(body)
        case .ready, .busy: body(nil)
        case .ended(let fault): body(fault)
        }
    }

    /// Sends a request on a connection that is ready. `completion` is called once, unless ``close()`` is called
    /// before.
    func send(_ request: HTTPClientRequest, completion: @escaping (Result) -> Void) {
        guard case .ready = self.state, let context = self.context else { return completion(.failed(self.loss())) }
        self.state = .busy(completion)
        self.answer = HTTPAnswerMachine(
            limit: request.bodyLimit,
            hasBody: request.method != .HEAD,
            needsBody: request.needsBody
        )
        (self.isWritten, self.isKept) = (false, false)
        self.unsent = request.body[...]
        context.write(self.wrapOutboundOut(.head(request.head)), promise: nil)
        let size = request.body.count
        switch request.delivery {
        case .whole: self.write(size, context)
        case .slow: self.write(max(1, size / Self.slowPieces), context)
        case .cut:
            self.write(size / 2, context)
            self.socket.reset()
            self.end(self.loss())
        case .impatient:
            self.write(size, context)
            self.end(.silent(.waiting))
        }
    }

    /// Writes `count` bytes of the body, and the rest later in pieces of the same length.
    private func write(_ count: Int, _ context: ChannelHandlerContext) {
        guard case .busy = self.state else { return }
        if !self.unsent.isEmpty {
            let piece = context.channel.allocator.buffer(bytes: self.unsent.prefix(count))
            context.write(self.wrapOutboundOut(.body(.byteBuffer(piece))), promise: nil)
            self.unsent = self.unsent.dropFirst(count)
        }
        guard self.unsent.isEmpty else {
            context.flush()
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.slowPause) {
                guard let context = self.context else { return }
                self.write(count, context)
            }
            return
        }
        // Even an empty slice of the body would keep the whole body in memory.
        self.unsent = []
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { self.isWritten = true }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: written)
    }

    /// The fault of a connection that ends before the answer.
    private func loss(_ error: (any Error)? = nil) -> HTTPFault { .lost(isSent: self.unsent.isEmpty, error) }

    /// Closes the connection. The closures of ``send(_:completion:)`` and ``whenOpen(_:)`` are not called any more.
    func close() {
        self.state = .ended(self.loss())
        self.context?.close(promise: nil)
    }

    // MARK: Events

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        if self.origin.scheme == .http { self.opened() }
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { self.opened() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .busy = self.state else { return self.end(.malformed) }
        self.perform(self.answer.received(self.unwrapInboundIn(data)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch (self.state, error) {
        case (.opening, let error as TLSError): self.end(.tls(error))
        case (.opening, let error as ProxyError): self.end(.proxy(error))
        case (.opening, _): self.end(.closedEarly(error))
        case (.busy, let error) where error is HTTPParserError || error is NIOHTTPDecoderError:
            // The parser also reports the end of the connection within an answer.
            if error as? HTTPParserError == .invalidEOFState { self.perform(self.answer.ended(self.loss(error))) }
            self.end(.malformed)
        case (.busy, _):
            self.perform(self.answer.ended(self.loss(error)))
            self.end(self.loss(error))
        case (.ready, _), (.ended, _):
            self.end(self.loss(error))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        switch self.state {
        case .opening: self.end(.closedEarly(nil))
        case .busy: self.perform(self.answer.ended(self.loss()))
        case .ready, .ended: self.end(self.loss())
        }
        self.onEnd?()
        self.endIdling()
        context.fireChannelInactive()
    }

    private func opened() {
        guard case .opening(let waiting) = self.state else { return }
        self.state = .ready
        waiting?(nil)
    }

    private func perform(_ action: HTTPAnswerMachine.Action) {
        guard case .busy(let completion) = self.state else { return }
        switch action {
        case .wait:
            break
        case .answer(let response, let keepsConnection):
            self.isKept = keepsConnection
            self.state = .ready
            completion(.answer(response))
        case .fail(let fault):
            self.end(fault)
        }
    }

    /// Ends the connection with its first fault. Later faults are only consequences.
    private func end(_ fault: HTTPFault) {
        let last = self.state
        switch last {
        case .ended: return
        case .opening, .ready, .busy: self.state = .ended(fault)
        }
        self.onEnd?()
        self.endIdling()
        // After its own error the TLS handler closes the channel itself. Closing here would cut off its alert.
        if case .tls = fault {} else { self.context?.close(promise: nil) }
        switch last {
        case .opening(let waiting): waiting?(fault)
        case .busy(let completion): completion(.failed(fault))
        case .ready, .ended: break
        }
    }
}
