package import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import FerryOpenSSL
internal import Logging
internal import NIOCore

/// One connection to a server of HTTP/2, as a provider makes it: name, TCP, proxy, TLS with the credentials, the server's
/// SETTINGS, and the answer to a PING. No request is sent, so it proves a certificate and no provider token.
package struct HTTP2Trial: Sendable {
    /// The words of a server that can be used.
    package struct Answer: Equatable, Sendable {
        /// The requests that it allows at a time. Without a limit the number is 2^31-1.
        package var maxConcurrentStreams: Int
    }

    private let connector: ProviderConnector
    private let eventLoop: any EventLoop
    private let logger: Logger
    /// The time for SETTINGS and PING, after TLS is established.
    private let limit: Duration

    /// - Throws: the error of ``HTTP2Provider`` for a configuration that cannot be used.
    package init(_ configuration: HTTP2Configuration) throws {
        self.connector = try ProviderConnector(configuration)
        self.eventLoop = configuration.eventLoopGroup.next()
        self.logger = configuration.logger
        self.limit = configuration.options.attemptTimeout
    }

    /// Makes the connection, and closes it. Ends after the time for connecting and the limit at the latest.
    package func run() async -> Result<Answer, ProviderError> {
        await withCheckedContinuation { continuation in
            self.eventLoop.execute { self.start { continuation.resume(returning: $0) } }
        }
    }

    private func start(_ completion: @escaping (Result<Answer, ProviderError>) -> Void) {
        let connector = self.connector
        let limit = self.limit
        let dial = connector.dial(on: self.eventLoop, logger: self.logger) { result in
            switch result {
            case .failed(let end):
                let error = end.error ?? ProviderError(.connectFailed, "No connection to \(connector.tls.peer).")
                completion(.failure(error))
            case .established(let channel, let stack):
                do {
                    let handler = try HTTP2TrialHandler(connector.tls, stack.tls, limit: limit, completion)
                    try channel.pipeline.syncOperations.addHandler(handler)
                } catch {
                    channel.close(promise: nil)
                    completion(.failure(connector.tls.error(error)))
                }
            }
        }
        dial.start()
    }
}

/// Sends the preface of HTTP/2, waits for the server's SETTINGS and for the answer to a PING, and closes.
///
/// All methods belong to the channel's event loop.
private final class HTTP2TrialHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    typealias Completion = (Result<HTTP2Trial.Answer, ProviderError>) -> Void

    /// The size of a write in bytes. Preface, SETTINGS and PING need much less.
    private static let writeLimit = 16 << 10

    private let connector: TLSConnector
    private let tls: TLSHandler
    private let limit: Duration
    private var session: HTTP2Session
    /// Nil until the SETTINGS came.
    private var answer: HTTP2Trial.Answer?
    private var goAway: String?
    private var error: (any Error)?
    private var hasReceived = false
    private var deadline: Scheduled<Void>?
    /// Nil once it was called.
    private var completion: Completion?

    init(
        _ connector: TLSConnector,
        _ tls: TLSHandler,
        limit: Duration,
        _ completion: @escaping Completion
    ) throws(HTTP2Error) {
        self.session = try HTTP2Session(role: .client)
        self.connector = connector
        self.tls = tls
        self.limit = limit
        self.completion = completion
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(self.limit)) {
            self.finish(.failure(self.silence), context)
        }
        self.write(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.completion != nil else { return }
        self.hasReceived = true
        do throws(HTTP2Error) {
            let bytes = self.unwrapInboundIn(data)
            try bytes.withUnsafeReadableBytes { (bytes) throws(HTTP2Error) in try self.session.receive(bytes) }
        } catch {
            return self.finish(.failure(self.violation), context)
        }
        while let event = self.session.nextEvent() {
            switch event {
            case .settings(let limit):
                if self.answer == nil { self.session.ping() }
                self.answer = HTTP2Trial.Answer(maxConcurrentStreams: limit)
            case .pingAnswered:
                if let answer { return self.finish(.success(answer), context) }
            case .goAway(_, let code, let data):
                let goAway = data.withUnsafeBufferPointer {
                    GoAway(errorCode: HTTP2ErrorCode(rawValue: code), debugData: $0)
                }
                self.goAway = goAway.description
            case .headers, .ended, .closed: break
            }
        }
        self.write(context)
        if self.session.isViolated { self.finish(.failure(self.violation), context) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The first error is the cause; later errors are its consequences. The TLS handler closes after its own errors.
        self.error = self.error ?? error
        if !(error is TLSError) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.finish(.failure(self.loss), context)
        context.fireChannelInactive()
    }

    private func write(_ context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: 256)
        guard self.session.write(into: &buffer, atMost: Self.writeLimit) else { return }
        context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
    }

    private func finish(_ result: Result<HTTP2Trial.Answer, ProviderError>, _ context: ChannelHandlerContext) {
        guard let completion = self.completion.take() else { return }
        self.deadline?.cancel()
        if context.channel.isActive {
            self.session.goAway()
            self.write(context)
        }
        context.close(promise: nil)
        completion(result)
    }

    // MARK: Faults

    private var silence: ProviderError {
        let sentence =
            self.answer == nil
            ? "agreed on HTTP/2, and sent no SETTINGS in time."
            : "sent its SETTINGS, and did not answer a PING in time."
        return ProviderError(.connectTimeout, "\(self.connector.peer) \(sentence)")
    }

    private var violation: ProviderError {
        ProviderError(.protocolViolation, "\(self.connector.peer) agreed on HTTP/2, and then sent something else.")
    }

    private var loss: ProviderError {
        let version = self.tls.version
        if let refusal = self.connector.refusal(self.error, version: version, hasReceived: self.hasReceived) {
            return refusal
        }
        if let error, (error as? TLSError)?.code != .uncleanShutdown { return self.connector.lost(error) }
        let what = self.answer == nil ? "before its SETTINGS" : "before it answered a PING"
        let reason = self.goAway.map { ": \($0)" } ?? ""
        return ProviderError(.connectionLost, "\(self.connector.peer) ended the connection \(what)\(reason).")
    }
}
