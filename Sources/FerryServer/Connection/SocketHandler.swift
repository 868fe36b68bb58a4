internal import FerryPlatform
package import NIOCore

/// A handler between a connection's socket and its TLS. It decides when and how the socket is read and closed.
///
/// ```
///               a read before its time
///    reading ──────────────────────────▶ pausing
///       │    ◀──────────────────────────    │
///       │            its time comes         │
///       └──────────────┬────────────────────┘
///                      ▼ stopReading
///                   stopped
/// ```
///
/// Call all methods on the channel's event loop.
package final class SocketHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private enum State {
        case reading
        /// A read was requested. The read happens when the pace allows it.
        case pausing(Scheduled<Void>)
        /// The socket is not read any more. Bytes that still arrive are dropped.
        case stopped
    }

    private var state = State.reading
    private var pace: ReadingPace?
    private var context: ChannelHandlerContext?

    /// - Parameter pace: the pace of reading; nil to read as fast as bytes arrive.
    package init(pace: ReadingPace? = nil) {
        self.pace = pace
    }

    package func stopReading() {
        if case .pausing(let read) = self.state { read.cancel() }
        self.state = .stopped
    }

    /// Closes the socket with RST instead of FIN. TLS sends no close_notify.
    package func reset() {
        guard let context = self.context, let socket = context.channel as? any SocketOptionProvider else { return }
        // The option fails only on a socket that is already closed.
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in
            self.context?.close(promise: nil)
        }
    }

    /// Ends the sending direction with FIN. TLS sends no close_notify.
    package func closeOutput() {
        self.context?.close(mode: .output, promise: nil)
    }

    /// Closes a channel. If the channel has a socket handler, TLS sends no close_notify.
    package static func close(_ channel: any Channel) {
        if let socket = try? channel.pipeline.syncOperations.context(handlerType: SocketHandler.self) {
            socket.close(promise: nil)
        } else {
            channel.close(promise: nil)
        }
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        if case .pausing(let read) = self.state { read.cancel() }
        self.context = nil
    }

    package func read(context: ChannelHandlerContext) {
        guard case .reading = self.state else { return }
        guard let pace = self.pace, pace.due > .now() else { return context.read() }
        let read = context.eventLoop.assumeIsolated().scheduleTask(deadline: pace.due) {
            self.state = .reading
            self.context?.read()
        }
        self.state = .pausing(read)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .stopped = self.state { return }
        if self.pace != nil { self.pace?.read(self.unwrapInboundIn(data).readableBytes, at: .now()) }
        context.fireChannelRead(data)
    }
}
