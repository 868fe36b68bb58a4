internal import FerryMachine
internal import NIOCore

/// The handler between the socket and TLS: counts the bytes of the stream, and asks the system which of them were
/// acknowledged.
///
/// Belongs to the channel's event loop.
final class TransportHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The bytes that TLS wrote.
    private(set) var written: UInt64 = 0
    /// The bytes that the system took. Grows when a write is complete.
    private(set) var handed: UInt64 = 0
    /// The bytes that were read from the socket.
    private var consumed: UInt64 = 0
    /// The system's count of acknowledged bytes before the first byte was sent: the SYN.
    private var baseline: UInt64?
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        self.ask { info in self.baseline = info?.bytesAcknowledged }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.consumed += UInt64(self.unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }

    /// A channel that ends fails the writes that it still holds, so that their bytes never count.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.written += UInt64(self.unwrapOutboundIn(data).readableBytes)
        let end = self.written
        let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenSuccess { self.handed = max(self.handed, end) }
        context.write(data, promise: promise)
    }

    /// Closes the socket without close_notify or alert. Drops bytes that were not sent.
    func abort() {
        self.context?.close(mode: .all, promise: nil)
    }

    /// Asks the system, and calls `body` at once.
    func sample(_ body: @escaping (TransportSample) -> Void) {
        let isWritable = self.context?.channel.isWritable ?? false
        self.ask { info in
            body(
                TransportSample(
                    acknowledged: info.flatMap(self.acknowledged),
                    handed: self.handed,
                    // The end of the stream counts as one byte, too. If the system reports nothing, assume that unread
                    // bytes exist.
                    hasUnread: info.map { $0.bytesReceived > self.consumed } ?? true,
                    isWritable: isWritable
                )
            )
        }
    }

    /// The bytes that the peer has acknowledged; nil if the system does not count them. The count would then stay at 0,
    /// although the peer acknowledged bytes in the handshake.
    private func acknowledged(_ info: TCPCounters) -> UInt64? {
        guard let baseline = self.baseline, info.bytesAcknowledged > baseline else { return nil }
        return info.bytesAcknowledged - baseline
    }

    private func ask(_ body: @escaping (TCPCounters?) -> Void) {
        guard let context, let socket = context.channel as? any SocketOptionProvider else { return body(nil) }
        TCPCounters.get(socket).assumeIsolated().whenComplete { body(try? $0.get()) }
    }
}
