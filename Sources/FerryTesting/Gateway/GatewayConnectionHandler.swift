internal import FerryPlatform
internal import FerryServer
internal import NIOCore
internal import NIOTLS

/// The handler that runs one connection's ``SimulatedGatewayMachine`` on its channel.
final class GatewayConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var machine: SimulatedGatewayMachine
    private let socket: SocketHandler
    private let tally: Tally<GatewayCounts>
    private let feedback: SimulatedFeedbackList?
    private var reported = SimulatedGatewayMachine.Counts()

    init(
        machine: SimulatedGatewayMachine,
        socket: SocketHandler,
        tally: Tally<GatewayCounts>,
        feedback: SimulatedFeedbackList?
    ) {
        self.machine = machine
        self.socket = socket
        self.tally = tally
        self.feedback = feedback
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let actions = self.machine.received(self.unwrapInboundIn(data), at: Self.now)
        let counts = self.machine.counts
        self.tally.add(counts, since: self.reported)
        self.reported = counts
        self.perform(actions, context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted:
            self.perform(self.machine.opened(at: Self.now), context)
        case ChannelEvent.inputClosed:
            self.perform(self.machine.inputClosed(), context)
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Does nothing: after an error, TLS and the channel close by themselves.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}

    private func perform(_ actions: [GatewayAction], _ context: ChannelHandlerContext) {
        for action in actions {
            switch action {
            case .write(let bytes):
                context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .closeOutput:
                context.close(mode: .output, promise: nil)
            case .close:
                context.close(promise: nil)
            case .reset:
                self.socket.reset()
            case .stopReading:
                self.socket.stopReading()
            case .gone(let token, let since):
                self.feedback?.add(.init(time: since ?? Date(), token: token), unlessListed: true)
            case .wake(let time):
                context.eventLoop.assumeIsolated().scheduleTask(deadline: NIODeadline(time)) {
                    guard context.channel.isActive else { return }
                    self.perform(self.machine.timePassed(at: Self.now), context)
                }
            }
        }
    }

    private static var now: Duration { Duration(NIODeadline.now()) }
}
