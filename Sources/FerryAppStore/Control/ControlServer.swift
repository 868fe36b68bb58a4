internal import FerryServer
internal import NIOCore

/// Lets commands of the same user reach the process that has the store: a socket in the file system beside it.
package final class ControlServer: Sendable {
    private let listener: Listener

    /// The path of the socket for a store.
    package static func path(store: String) -> String { "\(store)-control" }

    /// - Throws: a socket error.
    package static func start(store: String, _ desk: StoreDesk) async throws -> ControlServer {
        var configuration = Listener.Configuration()
        configuration.socketPath = Self.path(store: store)
        configuration.limits.connections = 32
        return ControlServer(
            try await Listener.bind(configuration, on: nil) { _ in ControlHandler { await desk.answer($0) } }
        )
    }

    private init(_ listener: Listener) { self.listener = listener }

    package func stop() async { await self.listener.stop(within: .seconds(1)) }
}

/// Reads one line, writes the lines of its answer, and closes.
private final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The longest request: a notification in base64url.
    private static let lineLimit = 4 << 20
    /// From the connection to the end of the request. Clients that send nothing would keep the others out.
    private static let requestLimit: TimeAmount = .seconds(5)
    private static let answerLimit: TimeAmount = .seconds(60)

    private enum State {
        case reading(ByteBuffer)
        case answering
    }

    private let respond: @Sendable (ControlRequest) async -> [[UInt8]]
    private var state = State.reading(ByteBuffer())
    private var timer: Scheduled<Void>?

    init(respond: @escaping @Sendable (ControlRequest) async -> [[UInt8]]) { self.respond = respond }

    func handlerAdded(context: ChannelHandlerContext) {
        self.startTimer(Self.requestLimit, context)
    }

    private func startTimer(_ limit: TimeAmount, _ context: ChannelHandlerContext) {
        self.timer?.cancel()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        self.timer = context.eventLoop.scheduleTask(in: limit) { bound.value.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.timer?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .reading(var bytes) = self.state else { return }
        bytes.writeImmutableBuffer(self.unwrapInboundIn(data))
        self.state = .reading(bytes)
        guard let end = bytes.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else {
            if bytes.readableBytes > Self.lineLimit { context.close(promise: nil) }
            return
        }
        self.state = .answering
        self.startTimer(Self.answerLimit, context)
        let line = Array(bytes.readableBytesView[..<end])
        let respond = self.respond
        let (eventLoop, bound) = (context.eventLoop, NIOLoopBound(context, eventLoop: context.eventLoop))
        Task {
            let lines =
                if let request = ControlRequest(line) {
                    await respond(request)
                } else {
                    [StoreDesk.error("The process that has the store does not know this request.")]
                }
            let answer = ByteBuffer(bytes: lines.joined(separator: [UInt8(ascii: "\n")]) + [UInt8(ascii: "\n")])
            eventLoop.execute {
                // A handler that was removed has a context that writes nothing.
                let context = bound.value
                let closing = context.eventLoop.makePromise(of: Void.self)
                context.writeAndFlush(NIOAny(answer), promise: closing)
                closing.futureResult.whenComplete { _ in bound.value.close(promise: nil) }
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
