package import NIOCore

/// A handler that makes one handshake with a server, notes everything it sees, and closes. It sends no application
/// data.
///
/// Under TLS 1.3 a server refuses a certificate only after the client's side of the handshake is done, and some servers
/// close without an alert. If the server asked for a certificate, the probe waits a little for that.
///
/// All methods belong to the channel's event loop.
package final class HandshakeProbe: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    package struct Limits: Sendable {
        /// The time from the connection to the end of the handshake.
        package var handshake: Duration
        /// The time from there to the server's verdict on the certificate, if the server asked for one.
        package var verdict: Duration

        package init(handshake: Duration, verdict: Duration) {
            self.handshake = handshake
            self.verdict = verdict
        }
    }

    private let limits: Limits
    private var engine: TLSEngine
    private var report = HandshakeReport(ending: .timedOut)
    private var deadline: Scheduled<Void>?
    /// Nil after the report was given.
    private var result: EventLoopPromise<HandshakeReport>?

    /// - Parameters:
    ///   - serverName: the name for SNI.
    ///   - result: gets the report, if the channel becomes active.
    /// - Throws: ``TLSError`` with `invalidConfiguration` or `internalFailure`.
    package init(
        client context: TLSContext,
        serverName: String,
        limits: Limits,
        result: EventLoopPromise<HandshakeReport>
    ) throws(TLSError) {
        self.engine = try TLSEngine(context: context, peer: PeerName(serverName))
        self.limits = limits
        self.result = result
    }

    package func channelActive(context: ChannelHandlerContext) {
        self.schedule(self.limits.handshake, context: context) { $0.finish(.timedOut, context: context) }
        self.step(context: context)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.report.firstBytes += bytes.readableBytesView.prefix(
            HandshakeReport.keptBytes - self.report.firstBytes.count
        )
        guard self.result != nil else { return }
        self.engine.ingest(bytes)
        self.step(context: context)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.finish(.closed, context: context)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.finish(.closed, context: context)
    }

    private func step(context: ChannelHandlerContext) {
        var ending: HandshakeReport.Ending?
        while ending == nil, let event = self.engine.step() {
            switch event {
            case .handshakeCompleted:
                self.report.isCompleted = true
                self.schedule(self.limits.verdict, context: context) { $0.finish(.established, context: context) }
            case .plaintext: ending = .established
            case .peerClosed: ending = .closed
            case .failed(let error): ending = .failed(error)
            }
        }
        if ending == nil, self.report.isCompleted, !self.engine.wasAskedForCertificate { ending = .established }
        self.send(context: context)
        if let ending { self.finish(ending, context: context) }
    }

    private func send(context: ChannelHandlerContext) {
        guard let ciphertext = self.engine.takeCiphertext() else { return }
        context.writeAndFlush(self.wrapOutboundOut(ciphertext), promise: nil)
    }

    private func finish(_ ending: HandshakeReport.Ending, context: ChannelHandlerContext) {
        guard let result = self.result.take() else { return }
        self.deadline?.cancel()
        self.report.ending = ending
        self.report.chain = self.engine.serverChain
        self.report.applicationProtocol = self.engine.applicationProtocol
        self.report.cipherSuite = self.engine.cipherSuite
        self.report.asksForCertificate = self.engine.wasAskedForCertificate
        self.engine.closeNotify()
        self.send(context: context)
        context.close(promise: nil)
        result.succeed(self.report)
    }

    private func schedule(
        _ delay: Duration,
        context: ChannelHandlerContext,
        _ action: @escaping (HandshakeProbe) -> Void
    ) {
        self.deadline?.cancel()
        self.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { action(self) }
    }
}
