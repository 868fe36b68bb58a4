internal import FerryOpenSSL
internal import NIOCore

/// The handler of an established connection: passes its bytes and its end to the ``FeedbackDriver``.
///
/// Belongs to the channel's event loop, which is also the driver's.
final class FeedbackConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let tls: TLSHandler
    /// Nil once the connection has ended or was aborted.
    private var driver: FeedbackDriver?
    private var context: ChannelHandlerContext?
    /// The first error. It is the cause; later errors are its consequences.
    private(set) var error: (any Error)?
    private(set) var hasReceived = false
    private var hasReceivedSinceRead = false

    init(driver: FeedbackDriver, tls: TLSHandler) {
        self.driver = driver
        self.tls = tls
    }

    /// The negotiated version of TLS.
    var version: TLSVersion? { self.tls.version }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: self.inputClosed(context)
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.hasReceived = true
        self.hasReceivedSinceRead = true
        self.driver?.received(self.unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // A read may bring bytes that only TLS needs. The TLS handler then reads again by itself.
        if self.hasReceivedSinceRead {
            self.hasReceivedSinceRead = false
            self.driver?.readCompleted()
        }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.error = self.error ?? error
        // The TLS handler closes the connection after its own errors.
        if !(error is TLSError) { context.close(promise: nil) }
    }

    /// The service has ended the stream. If it sent no close_notify, the TLS handler has reported an error before.
    private func inputClosed(_ context: ChannelHandlerContext) {
        switch self.error {
        case nil: self.end(.closeNotify)
        case let error as TLSError where error.code == .uncleanShutdown: self.end(.endOfStream)
        default: self.end(.unfinished)
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The service did not end the stream: `inputClosed` would have come first.
        self.end(.unfinished)
        context.fireChannelInactive()
    }

    private func end(_ ending: FeedbackReport.Ending) {
        let driver = self.driver
        self.driver = nil
        driver?.ended(ending, on: self)
    }

    /// Starts one read.
    func read() {
        self.context?.read()
    }

    /// Closes at once, without close_notify. Nothing is reported after this.
    func abort() {
        self.driver = nil
        guard let context else { return }
        let below = try? context.pipeline.syncOperations.context(handler: self.tls)
        (below ?? context).close(promise: nil)
    }
}
