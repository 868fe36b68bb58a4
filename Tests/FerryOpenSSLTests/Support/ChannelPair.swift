import FerryOpenSSL
import NIOCore
import NIOEmbedded
import NIOTLS

/// The events of the application above TLS, in order.
final class Recorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    enum Entry: Equatable {
        case active
        case read(String)
        case handshake(String?)
        case shutdown
        case inputClosed
        case error(TLSError.Code)
        case otherError
        case inactive
    }

    var entries: [Entry] = []
    var errors: [TLSError] = []
    /// Runs after every entry.
    var react: ((Entry, ChannelHandlerContext) -> Void)?

    private func note(_ entry: Entry, _ context: ChannelHandlerContext) {
        entries.append(entry)
        react?(entry, context)
    }

    func channelActive(context: ChannelHandlerContext) { note(.active, context) }
    func channelInactive(context: ChannelHandlerContext) { note(.inactive, context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        note(.read(String(buffer: unwrapInboundIn(data))), context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted(let name): note(.handshake(name), context)
        case TLSUserEvent.shutdownCompleted: note(.shutdown, context)
        case ChannelEvent.inputClosed: note(.inputClosed, context)
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? TLSError {
            errors.append(error)
            note(.error(error.code), context)
        } else {
            note(.otherError, context)
        }
    }
}

/// The calls to the socket below TLS.
final class Wire: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Entry: Equatable {
        case write
        case closeOutput
        case closeAll
    }

    var entries: [Entry] = []
    var reads = 0
    /// Completes writes with this error instead of passing them on.
    var failure: (any Error)?
    /// Whether to hold back the completion of writes.
    var isStuck = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        entries.append(.write)
        if let failure {
            promise?.fail(failure)
        } else {
            context.write(data, promise: isStuck ? nil : promise)
            if isStuck { stuck.append(promise) }
        }
    }

    var stuck: [EventLoopPromise<Void>?] = []

    func read(context: ChannelHandlerContext) {
        reads += 1
        context.read()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        // An embedded channel does not support a half close.
        guard mode == .all else {
            entries.append(.closeOutput)
            promise?.succeed()
            return
        }
        entries.append(.closeAll)
        context.close(mode: .all, promise: promise)
    }
}

/// One side: an embedded channel with TLS in the middle.
struct Side {
    let channel: EmbeddedChannel
    let wire = Wire()
    let tls: TLSHandler
    let application = Recorder()

    init(_ tls: TLSHandler, loop: EmbeddedEventLoop) throws {
        self.tls = tls
        channel = EmbeddedChannel(loop: loop)
        try channel.pipeline.syncOperations.addHandlers([wire, tls, application])
    }

    func connect() throws {
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    /// Sends a text. The future completes with the write.
    @discardableResult
    func send(_ text: String) -> EventLoopFuture<Void> {
        channel.writeAndFlush(ByteBuffer(string: text))
    }

    func endOfStream() {
        channel.pipeline.fireChannelInactive()
    }
}

/// A client and a server whose sockets are joined by hand.
struct ChannelPair {
    let loop = EmbeddedEventLoop()
    let client: Side
    let server: Side

    init(client: TLSContext, server: TLSContext, limits: TLSHandler.Limits = .init()) throws {
        self.client = try Side(TLSHandler(client: client, serverName: "localhost", limits: limits), loop: loop)
        self.server = try Side(TLSHandler(server: server, limits: limits), loop: loop)
    }

    /// A pair that trust each other, after the handshake.
    static func connected(version: TLSVersion = .tls13, limits: TLSHandler.Limits = .init()) throws -> ChannelPair {
        let pair = try unconnected(version: version, limits: limits)
        try pair.connect()
        try pair.exchange()
        return pair
    }

    static func unconnected(version: TLSVersion = .tls13, limits: TLSHandler.Limits = .init()) throws -> ChannelPair {
        let ca = try ThrowAwayCA()
        return try ChannelPair(
            client: TLSContext(client: .init(trustRoots: ca.trustRoots, versions: version...version)),
            server: TLSContext(server: .init(identity: ca.server(), maximum: version)),
            limits: limits
        )
    }

    func connect() throws {
        try server.connect()
        try client.connect()
    }

    /// Carries bytes in both directions until both sides are silent.
    ///
    /// - Parameter roundTrip: the time that passes each time.
    func exchange(roundTrip: TimeAmount = .zero) throws {
        var isBusy = true
        while isBusy {
            loop.advanceTime(by: roundTrip)
            let up = try carry(from: client, to: server)
            let down = try carry(from: server, to: client)
            isBusy = up || down
        }
    }

    private func carry(from source: Side, to target: Side) throws -> Bool {
        var carried = false
        while let bytes = try source.channel.readOutbound(as: ByteBuffer.self) {
            carried = true
            // A closed socket accepts no bytes.
            if target.channel.isActive { try target.channel.writeInbound(bytes) }
        }
        return carried
    }

    /// Closes the channels that the test has left open.
    func finish() {
        for side in [client, server] {
            if side.channel.isActive { side.channel.pipeline.fireChannelInactive() }
            _ = try? side.channel.finish(acceptAlreadyClosed: true)
        }
    }
}
