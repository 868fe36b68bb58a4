internal import FerryMachine
internal import FerryOpenSSL
internal import FerryServer
internal import NIOCore
internal import NIOTLS

/// The handler that runs one connection's ``APNsMachine`` on its channel.
final class APNsConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The largest read and write, in bytes: one TLS record. With larger ones, client and server take turns and each
    /// idles.
    private static let chunk = 16 << 10

    /// A closure that makes the machine of a client with this certificate; nil: the client showed no certificate.
    typealias MakeMachine = (CertificateSummary?) throws -> APNsMachine

    private let connection: AcceptedConnection
    private let tally: Tally<APNsCounts>
    private let makeMachine: MakeMachine
    /// The connection's machine; nil until the handshake is done.
    private var machine: APNsMachine?
    private var output = ByteBuffer()
    private var reported = APNsMachine.Counts()
    private var isWriting = false

    init(_ connection: AcceptedConnection, tally: Tally<APNsCounts>, makeMachine: @escaping MakeMachine) {
        self.connection = connection
        self.tally = tally
        self.makeMachine = makeMachine
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        while bytes.readableBytes > 0, let piece = bytes.readSlice(length: min(bytes.readableBytes, Self.chunk)) {
            let actions = self.machine?.received(piece, at: Self.now) ?? []
            self.perform(actions, context)
            self.write(context)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.write(context)
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted:
            self.open(context)
        case ChannelEvent.inputClosed:
            self.machine?.inputClosed()
            self.write(context)
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Does nothing: after an error, TLS and the channel close by themselves.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}

    private func open(_ context: ChannelHandlerContext) {
        do {
            self.machine = try self.makeMachine(self.connection.tls?.peerCertificate)
        } catch {
            // There is no memory for a session, so no answer can be sent.
            return context.close(promise: nil)
        }
        let actions = self.machine?.opened(at: Self.now) ?? []
        self.perform(actions, context)
        self.write(context)
    }

    private func perform(_ actions: [APNsAction], _ context: ChannelHandlerContext) {
        for action in actions {
            switch action {
            case .reset:
                self.connection.socket.reset()
            case .stopReading:
                self.connection.socket.stopReading()
            case .wake(let deadline):
                context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
                    guard context.channel.isActive else { return }
                    self.perform(self.machine?.timePassed(at: Self.now) ?? [], context)
                    self.write(context)
                }
            }
        }
    }

    /// Writes as long as the channel is writable. The machine keeps the remaining bytes, and limits them.
    private func write(_ context: ChannelHandlerContext) {
        // A write can call this method again. The loop below already handles the new state.
        guard !self.isWriting else { return }
        self.isWriting = true
        defer { self.isWriting = false }
        while context.channel.isWritable {
            self.output.clear()
            guard self.machine?.write(into: &self.output, atMost: Self.chunk) == true else { break }
            // Count before writing. Otherwise, a client could see its answer before the counts contain it.
            self.report()
            context.writeAndFlush(self.wrapOutboundOut(self.output), promise: nil)
        }
        self.report()
        if self.machine?.isOver == true { context.close(promise: nil) }
    }

    private func report() {
        guard let counts = self.machine?.counts, counts != self.reported else { return }
        self.tally.add(counts, since: self.reported)
        self.reported = counts
    }

    private static var now: Moment {
        Moment(monotonic: .now(), epochSeconds: SimulatedFeedbackList.now)
    }
}
