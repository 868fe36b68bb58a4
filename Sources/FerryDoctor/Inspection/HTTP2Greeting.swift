internal import Ferry
internal import FerryHTTP2
internal import FerryOpenSSL
internal import FerryTerminal
internal import NIOCore
internal import NIOTLS

/// The start of a server's HTTP/2, after TLS has agreed on it.
enum HTTP2Greeting: Equatable, Sendable {
    /// The server sent SETTINGS. Without a limit of streams the number is 2^31-1.
    case settings(maxConcurrentStreams: Int)
    /// The server sent nothing within the limit.
    case silent
    /// The server sent bytes that are not HTTP/2.
    case violation
    /// The connection ended before the SETTINGS. The text comes from the server's GOAWAY; nil without one.
    case closed(String?)
}

/// A handler that sends the HTTP/2 preface, waits for the server's SETTINGS, and closes. It makes no request.
///
/// Use it on the channel's event loop only.
final class HTTP2GreetingProbe: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The largest size of a write, in bytes. A greeting needs much less.
    private static let writeLimit = 16 << 10

    private let limit: Duration
    private var session: HTTP2Session
    private var goAway: String?
    private var deadline: Scheduled<Void>?
    /// The promise of the result; nil after the result was delivered.
    private var result: EventLoopPromise<HTTP2Greeting>?

    /// - Parameters:
    ///   - limit: the longest time of the whole greeting, including TLS.
    ///   - result: gets the greeting, if the channel becomes active.
    init(limit: Duration, result: EventLoopPromise<HTTP2Greeting>) throws(HTTP2Error) {
        self.session = try HTTP2Session(role: .client)
        self.limit = limit
        self.result = result
    }

    func channelActive(context: ChannelHandlerContext) {
        self.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(self.limit)) {
            self.finish(.silent, context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { self.write(context) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.result != nil else { return }
        do throws(HTTP2Error) {
            let bytes = self.unwrapInboundIn(data)
            try bytes.withUnsafeReadableBytes { (bytes) throws(HTTP2Error) in try self.session.receive(bytes) }
        } catch {
            return self.finish(.violation, context)
        }
        while let event = self.session.nextEvent() {
            switch event {
            case .settings(let limit): return self.finish(.settings(maxConcurrentStreams: limit), context)
            case .goAway(_, let code, let data):
                let goAway = data.withUnsafeBufferPointer {
                    GoAway(errorCode: HTTP2ErrorCode(rawValue: code), debugData: $0)
                }
                self.goAway = goAway.description
            case .headers, .ended, .closed, .pingAnswered: break
            }
        }
        self.write(context)
        if self.session.isViolated { self.finish(.violation, context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.finish(.closed(self.goAway), context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.finish(.closed(self.goAway), context)
    }

    private func write(_ context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: 256)
        guard self.session.write(into: &buffer, atMost: Self.writeLimit) else { return }
        context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
    }

    private func finish(_ greeting: HTTP2Greeting, _ context: ChannelHandlerContext) {
        guard let result = self.result.take() else { return }
        self.deadline?.cancel()
        if context.channel.isActive {
            self.session.goAway()
            self.write(context)
        }
        context.close(promise: nil)
        result.succeed(greeting)
    }
}
