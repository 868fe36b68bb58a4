internal import FerryMachine
internal import NIOCore

/// Next to the socket, below TLS: counts the bytes of the stream, and asks the system what became of them.
///
/// Belongs to the channel's event loop.
final class TransportHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Bytes that TLS wrote.
    private(set) var written: UInt64 = 0
    /// Bytes that the system took, counted by whole flushes.
    private(set) var handed: UInt64 = 0
    /// Bytes that were read.
    private var consumed: UInt64 = 0
    /// What the system counted as acknowledged before the first byte: the SYN.
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

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.written += UInt64(self.unwrapOutboundIn(data).readableBytes)
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        // What a channel held when it ended was not handed over.
        guard context.channel.isActive else { return }
        if (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) == 0 {
            self.handed = self.written
        } else {
            self.mark(context)
        }
    }

    /// Notes when everything up to here is with the system: nothing stands behind it, and is written last.
    private func mark(_ context: ChannelHandlerContext) {
        let end = self.written
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenSuccess { self.handed = max(self.handed, end) }
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer()), promise: promise)
    }

    /// Closes the socket without a word of TLS, and drops what was not sent.
    func abort() {
        self.context?.close(mode: .all, promise: nil)
    }

    /// Calls back, at once, with what the system says.
    func sample(_ body: @escaping (TransportSample) -> Void) {
        let isWritable = self.context?.channel.isWritable ?? false
        self.ask { info in
            body(
                TransportSample(
                    acknowledged: info.flatMap(self.acknowledged),
                    handed: self.handed,
                    // The end of the stream counts as one byte, too. Who says nothing may hold anything.
                    hasUnread: info.map { $0.bytesReceived > self.consumed } ?? true,
                    isWritable: isWritable
                )
            )
        }
    }

    /// What the peer has acknowledged; nil when the system does not count it. It has acknowledged something: the
    /// handshake would not be done without.
    private func acknowledged(_ info: TCPInfo) -> UInt64? {
        guard let baseline = self.baseline, info.bytesAcknowledged > baseline else { return nil }
        return info.bytesAcknowledged - baseline
    }

    private func ask(_ body: @escaping (TCPInfo?) -> Void) {
        guard let context, let socket = context.channel as? any SocketOptionProvider else { return body(nil) }
        TCPInfo.get(socket).assumeIsolated().whenComplete { body(try? $0.get()) }
    }
}
