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
        engine = try TLSEngine(context: context, peer: PeerName(serverName))
        self.limits = limits
        self.result = result
    }

    package func channelActive(context: ChannelHandlerContext) {
        schedule(limits.handshake, context: context) { $0.finish(.timedOut, context: context) }
        step(context: context)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        report.firstBytes += bytes.readableBytesView.prefix(HandshakeReport.keptBytes - report.firstBytes.count)
        guard result != nil else { return }
        engine.ingest(bytes)
        step(context: context)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        finish(.closed, context: context)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.closed, context: context)
    }

    private func step(context: ChannelHandlerContext) {
        var ending: HandshakeReport.Ending?
        while ending == nil, let event = engine.step() {
            switch event {
            case .handshakeCompleted:
                report.isCompleted = true
                schedule(limits.verdict, context: context) { $0.finish(.established, context: context) }
            case .plaintext: ending = .established
            case .peerClosed: ending = .closed
            case .failed(let error): ending = .failed(error)
            }
        }
        if ending == nil, report.isCompleted, !engine.wasAskedForCertificate { ending = .established }
        send(context: context)
        if let ending { finish(ending, context: context) }
    }

    private func send(context: ChannelHandlerContext) {
        guard let ciphertext = engine.takeCiphertext() else { return }
        context.writeAndFlush(wrapOutboundOut(ciphertext), promise: nil)
    }

    private func finish(_ ending: HandshakeReport.Ending, context: ChannelHandlerContext) {
        guard let result = result.take() else { return }
        deadline?.cancel()
        report.ending = ending
        report.chain = engine.serverChain
        report.applicationProtocol = engine.applicationProtocol
        report.cipherSuite = engine.cipherSuite
        report.asksForCertificate = engine.wasAskedForCertificate
        engine.closeNotify()
        send(context: context)
        context.close(promise: nil)
        result.succeed(report)
    }

    private func schedule(
        _ delay: Duration,
        context: ChannelHandlerContext,
        _ action: @escaping (HandshakeProbe) -> Void
    ) {
        deadline?.cancel()
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { action(self) }
    }
}
