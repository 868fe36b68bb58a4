internal import FerryOpenSSL
internal import NIOCore

/// The connection of a ``FeedbackDriver``, from the end of its handshake on: passes on what happens.
///
/// Belongs to the channel's event loop, which is the driver's.
final class FeedbackConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let tls: TLSHandler
    /// Gone once the connection has ended, or was given up.
    private var driver: FeedbackDriver?
    private var context: ChannelHandlerContext?
    /// The first error is the cause; what follows are its consequences.
    private(set) var error: (any Error)?
    private(set) var hasReceived = false
    private var hasReceivedSinceRead = false

    init(driver: FeedbackDriver, tls: TLSHandler) {
        self.driver = driver
        self.tls = tls
    }

    /// As agreed on.
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
        // TLS asks again by itself for what brought no bytes.
        if self.hasReceivedSinceRead {
            self.hasReceivedSinceRead = false
            self.driver?.readCompleted()
        }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.error = self.error ?? error
        // TLS closes by itself.
        if !(error is TLSError) { context.close(promise: nil) }
    }

    /// The service has ended the stream. TLS says before it when there was no close_notify.
    private func inputClosed(_ context: ChannelHandlerContext) {
        switch self.error {
        case nil: self.end(.closeNotify)
        case let error as TLSError where error.code == .uncleanShutdown: self.end(.endOfStream)
        default: self.end(.unfinished)
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The service did not end it: the channel would have told.
        self.end(.unfinished)
        context.fireChannelInactive()
    }

    private func end(_ ending: FeedbackReport.Ending) {
        let driver = self.driver
        self.driver = nil
        driver?.ended(ending, on: self)
    }

    /// Asks for bytes once.
    func read() {
        self.context?.read()
    }

    /// Closes at once, past TLS. Nothing more will be reported.
    func abort() {
        self.driver = nil
        guard let context else { return }
        let below = try? context.pipeline.syncOperations.context(handler: self.tls)
        (below ?? context).close(promise: nil)
    }
}
