internal import FerryOpenSSL
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
    /// Of the request under way. Beside the state, because its bytes would be copied with it.
    private var answer = HTTPAnswerMachine(limit: 0)
    private var context: ChannelHandlerContext?
    /// Whether the system took all bytes of the last request.
    private var isWritten = true
    /// Whether the server keeps the connection after the last answer.
    private var isKept = true
    /// Called when the connection can no longer be used.
    var onEnd: (() -> Void)?

    init(_ origin: HTTPURL.Origin, on eventLoop: any EventLoop) {
        self.origin = origin
        self.eventLoop = eventLoop
    }

    /// Whether a request can be sent now.
    var isReady: Bool { if case .ready = self.state { self.isWritten && self.isKept } else { false } }

    /// How far the connection or its request is.
    var stage: HTTPFault.Stage {
        switch self.state {
        case .opening: .shaking
        case .ready, .busy, .ended: self.answer.stage
        }
    }

    /// Calls `body` when the connection is open, or with the fault that it failed with.
    func whenOpen(_ body: @escaping (HTTPFault?) -> Void) {
        switch self.state {
        case .opening: self.state = .opening(body)
        case .ready, .busy: body(nil)
        case .ended(let fault): body(fault)
        }
    }

    /// Sends a request on a connection that is ready. `completion` is called once, unless the connection is closed first.
    func send(_ request: HTTPClientRequest, completion: @escaping (Result) -> Void) {
        guard case .ready = self.state, let context = self.context else { return completion(.failed(.lost)) }
        self.state = .busy(completion)
        self.answer = HTTPAnswerMachine(
            limit: request.bodyLimit,
            hasBody: request.method != .HEAD,
            needsBody: request.needsBody
        )
        (self.isWritten, self.isKept) = (false, false)
        context.write(self.wrapOutboundOut(.head(request.head)), promise: nil)
        if !request.body.isEmpty {
            let body = context.channel.allocator.buffer(bytes: request.body)
            context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { self.isWritten = true }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: written)
    }

    /// Closes the connection. Completions are not called any more.
    func close() {
        self.state = .ended(.lost)
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
        case (.opening, _): self.end(.unconnected(error))
        case (.busy, let error) where error is HTTPParserError || error is NIOHTTPDecoderError:
            // The parser also reports the end of the connection within an answer.
            if error as? HTTPParserError == .invalidEOFState { self.perform(self.answer.ended()) }
            self.end(.malformed)
        case (.busy, _):
            self.perform(self.answer.ended())
            self.end(.lost)
        case (.ready, _), (.ended, _):
            self.end(.lost)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        switch self.state {
        case .opening: self.end(.closedEarly)
        case .busy: self.perform(self.answer.ended())
        case .ready, .ended: self.end(.lost)
        }
        self.onEnd?()
        self.onEnd = nil
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

    /// Ends the connection with its first fault; later ones are consequences.
    private func end(_ fault: HTTPFault) {
        let last = self.state
        switch last {
        case .ended: return
        case .opening, .ready, .busy: self.state = .ended(fault)
        }
        self.onEnd?()
        self.onEnd = nil
        // After its own error the TLS handler closes the channel itself. Closing here would cut off its alert.
        if case .tls = fault {} else { self.context?.close(promise: nil) }
        switch last {
        case .opening(let waiting): waiting?(fault)
        case .busy(let completion): completion(.failed(fault))
        case .ready, .ended: break
        }
    }
}
