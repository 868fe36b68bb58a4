internal import Ferry
internal import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import FerryOpenSSL
internal import FerryTesting
internal import NIOCore
internal import NIOPosix
internal import NIOTLS

/// An HTTP/2 client without a provider. It has the session, the TLS, the fields and the number of streams of a
/// provider, but no bookkeeping.
///
/// The provider is compared with this client, so the client does what APNs requires of a provider: each notification
/// has its device token and its `apns-id`, and the status of each answer is checked.
struct BareHTTP2 {
    private let channel: any Channel
    private let handler: NIOLoopBound<BareHTTP2Handler>

    /// Opens the TCP connection. The first ``send(_:)`` waits for the TLS handshake. The limit of streams rises when
    /// APNs has accepted the token.
    static func connect(
        to server: SimulatedAPNs,
        _ credentials: TestCredentials,
        token: String,
        on eventLoop: any EventLoop
    ) async throws -> BareHTTP2 {
        let context = try TLSContext(
            client: .init(trustRoots: credentials.trustRoots, applicationProtocols: ["h2"])
        )
        let load = try Load(token: token)
        let handler = try await eventLoop.submit {
            NIOLoopBound(try BareHTTP2Handler(load), eventLoop: eventLoop)
        }.get()
        let channel = try await ClientBootstrap(group: eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try TLSHandler(client: context, serverName: "localhost")
                    try channel.pipeline.syncOperations.addHandlers([tls, handler.value])
                }
            }
            .connect(host: server.host, port: server.port)
            .get()
        return BareHTTP2(channel: channel, handler: handler)
    }

    /// Sends `count` notifications. Returns when all were answered with status 200. Throws when APNs rejects one or the
    /// connection ends.
    func send(_ count: Int) async throws {
        try await self.channel.eventLoop.flatSubmit { self.handler.value.send(count) }.get()
    }

    func close() async throws {
        try await self.channel.close()
    }

    /// The notifications to send, with their token.
    struct Load: Sendable {
        let run: BatchRun
        let token: ProviderToken

        init(token: String) throws {
            let notification = try BenchLoad.makeNotification()
            var batch = PushBatch(capacity: BenchLoad.deviceCount)
            for device in try BenchLoad.makeDevices() { try batch.append(notification, to: device, tag: PushTag(0)) }
            self.run = batch.takeFirst(batch.count)
            self.token = ProviderToken(generation: 1, headerValue: Array("bearer \(token)".utf8))
        }
    }
}

/// Keeps the number of requests under way at the limit of SETTINGS, but not above ``HTTP2Bench/streams``.
private final class BareHTTP2Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The size of a write, as in a provider: one TLS record, so that the server works while the client makes the next.
    private static let chunk = 16 << 10
    private static let stride = 32

    private struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private let run: BatchRun
    private var session: HTTP2Session
    private var fields: RequestFields
    private var identifiers = (high: UInt64.random(in: .min ... .max), low: UInt64.random(in: .min ... .max))
    private var context: ChannelHandlerContext?
    private var isConnected = false
    private var limit = 1
    private var underWay = 0
    private var next = 0
    private var toSend = 0
    private var toAnswer = 0
    private var done: EventLoopPromise<Void>?

    init(_ load: BareHTTP2.Load) throws {
        self.run = load.run
        self.session = try HTTP2Session(role: .client)
        self.fields = RequestFields(
            authority: "localhost",
            check: RequestCheck(bundleID: HTTP2Bench.topic, usesTokens: true)
        )
        self.fields.authorize(load.token)
    }

    func send(_ count: Int) -> EventLoopFuture<Void> {
        guard let context else { return NIOSingletons.posixEventLoopGroup.next().makeFailedFuture(ChannelError.eof) }
        let done = context.eventLoop.makePromise(of: Void.self)
        self.done = done
        self.toSend = count
        self.toAnswer = count
        self.write(context)
        return done.futureResult
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent {
            self.isConnected = true
            self.write(context)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { self.write(context) }

    func channelInactive(context: ChannelHandlerContext) { self.fail("The server closed the connection.") }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { self.fail("\(error)") }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            try self.unwrapInboundIn(data).withUnsafeReadableBytes { try self.session.receive($0) }
        } catch {
            return self.fail("\(error)")
        }
        while let event = self.session.nextEvent() {
            switch event {
            case .settings(let limit): self.limit = min(limit, HTTP2Bench.streams)
            case .closed(let stream, _):
                guard self.session.answer(of: stream)?.isAccepted == true else {
                    return self.fail("The server rejected a notification.")
                }
                self.underWay -= 1
                self.toAnswer -= 1
            default: break
            }
        }
        self.write(context)
        guard self.toAnswer == 0, let done else { return }
        self.done = nil
        done.succeed()
    }

    private func fail(_ message: String) {
        self.done?.fail(Failure(description: message))
        self.done = nil
    }

    private func write(_ context: ChannelHandlerContext) {
        guard self.isConnected else { return }
        while context.channel.isWritable {
            var bytes = context.channel.allocator.buffer(capacity: Self.chunk)
            do {
                try self.write(into: &bytes)
            } catch {
                return self.fail("\(error)")
            }
            guard bytes.readableBytes > 0 else { return }
            context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
        }
    }

    private func write(into bytes: inout ByteBuffer) throws {
        while bytes.readableBytes < Self.chunk {
            var made = 0
            while made < Self.stride, self.underWay < self.limit, self.toSend > 0 {
                try self.request()
                made += 1
            }
            guard self.session.write(into: &bytes, atMost: Self.chunk - bytes.readableBytes) else { return }
        }
    }

    private func request() throws {
        let entry = self.run.entries[self.next]
        self.next = (self.next + 1) % self.run.count
        self.fields.write(
            entry,
            in: self.run.storage.arena,
            apnsID: self.nextIdentifier(),
            known: [.apnsID, .collapseID]
        )
        let payload = UnsafeBufferPointer(
            start: UnsafePointer(self.run.storage.arena + Int(entry.offset) + Int(entry.tokenLength)),
            count: Int(entry.payloadLength)
        )
        _ = try self.session.request(self.fields.block, body: payload)
        self.underWay += 1
        self.toSend -= 1
    }

    /// Returns an identifier that differs from all earlier ones. It need not be random here.
    private func nextIdentifier() -> APNSID {
        self.identifiers.low &+= 0x9e37_79b9_7f4a_7c15
        return withUnsafeBytes(of: self.identifiers) { bytes in
            guard let base = bytes.baseAddress else { return APNSID.random() }
            return APNSID(reading: base.assumingMemoryBound(to: UInt8.self))
        }
    }
}
