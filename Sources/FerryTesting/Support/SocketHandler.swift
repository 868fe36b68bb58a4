internal import NIOCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Stands between a connection's socket and its TLS, and decides when and how the socket is read and closed.
final class SocketHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// In bytes: what a connection that may stop being read holds unread, in the system and at a time in the gateway. A
    /// client sees soon that it is not read, as it would over a network.
    static let smallBuffer = 4096

    private let bytesPerSecond: Int?
    private var context: ChannelHandlerContext?
    private var isStopped = false
    private var nextRead = NIODeadline.uptimeNanoseconds(0)
    private var waitingRead: Scheduled<Void>?

    /// - Parameter bytesPerSecond: how fast to read; nil, as fast as it comes.
    init(bytesPerSecond: Int? = nil) {
        self.bytesPerSecond = bytesPerSecond
    }

    /// How many bytes to read at once, so that a slow reader is even.
    static func chunk(bytesPerSecond: Int) -> Int {
        let timesPerSecond = 20
        return min(max(bytesPerSecond / timesPerSecond, 1), 65_536)
    }

    func stopReading() {
        self.isStopped = true
        self.waitingRead?.cancel()
    }

    /// Closes with RST instead of FIN, past TLS.
    func reset() {
        guard let context = self.context, let socket = context.channel as? any SocketOptionProvider else { return }
        // Fails only on a socket that is closed already.
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in
            self.context?.close(promise: nil)
        }
    }

    /// Ends the stream past TLS, without close_notify.
    func closeOutput() {
        self.context?.close(mode: .output, promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.waitingRead?.cancel()
        self.context = nil
    }

    func read(context: ChannelHandlerContext) {
        guard !self.isStopped, self.waitingRead == nil else { return }
        let now = NIODeadline.now()
        guard self.bytesPerSecond != nil, self.nextRead > now else { return context.read() }
        self.waitingRead = context.eventLoop.assumeIsolated().scheduleTask(deadline: self.nextRead) {
            self.waitingRead = nil
            self.context?.read()
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let bytesPerSecond = self.bytesPerSecond {
            let length = Int64(self.unwrapInboundIn(data).readableBytes)
            let pause = TimeAmount.nanoseconds(length * 1_000_000_000 / Int64(bytesPerSecond))
            self.nextRead = max(self.nextRead, .now()) + pause
        }
        if !self.isStopped { context.fireChannelRead(data) }
    }
}
