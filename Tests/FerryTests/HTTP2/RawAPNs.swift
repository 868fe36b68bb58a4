import Ferry
import FerryHTTP2
import FerryOpenSSL
import FerryTesting
import NIOCore
import NIOPosix
import Synchronization

/// An APNs made of a listener, TLS, a session and a closure, for behaviour that no script can describe.
final class RawAPNs: Sendable {
    struct Request: Sendable {
        /// The fields by name. If a name occurs twice, the last value counts.
        var fields: [String: String] = [:]
        var body: [UInt8] = []
        /// The number of its connection, from 1.
        var connection = 0

        /// The number that ``Harness/device(_:)`` stores in the device token.
        var number: Int? {
            let hex = self.fields[":path"]?.dropFirst("/3/device/".count).prefix(16) ?? ""
            return UInt64(hex, radix: 16).map { Int($0.byteSwapped) }
        }
    }

    struct Answer: Sendable {
        var status: UInt64 = 200
        var body = ""
        /// Whether the stream is refused in place of an answer.
        var isRefusal = false
    }

    /// Answers a request. Nil: no answer.
    typealias Behaviour = @Sendable (Request) -> Answer?

    struct Options {
        var clientCertificates: TLSContext.ClientCertificates = .requested
        var applicationProtocols = ["h2"]
    }

    let port: Int
    let credentials: TestCredentials
    private let listener: any Channel
    private let state: State

    final class State: Sendable {
        let requests = Mutex<[Request]>([])
        let channels = Mutex<[any Channel]>([])
    }

    private init(_ listener: any Channel, _ credentials: TestCredentials, _ state: State) {
        self.listener = listener
        self.port = listener.localAddress?.port ?? 0
        self.credentials = credentials
        self.state = state
    }

    /// Starts an APNs, runs `body`, and stops it.
    static func run(
        _ options: Options = Options(),
        _ behaviour: @escaping Behaviour = { _ in Answer() },
        _ body: (RawAPNs) async throws -> Void
    ) async throws {
        let credentials = try TestCredentials()
        let context = try TLSContext(
            server: .init(
                identity: credentials.server,
                clientCertificates: options.clientCertificates,
                applicationProtocols: options.applicationProtocols
            )
        )
        let state = State()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    state.channels.withLock { $0.append(channel) }
                    try channel.pipeline.syncOperations.addHandlers(
                        [
                            try TLSHandler(server: context, limits: .patient),
                            try RawAPNsHandler(behaviour, state),
                        ] as [any ChannelHandler]
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let apns = RawAPNs(listener, credentials, state)
        do {
            try await body(apns)
        } catch {
            await apns.stop()
            throw error
        }
        await apns.stop()
    }

    var requests: [Request] { self.state.requests.withLock { $0 } }
    var connections: Int { self.state.channels.withLock { $0.count } }

    func source() throws -> ProviderTokenSource {
        try ProviderTokenSource(
            key: self.credentials.tokenKey,
            keyID: self.credentials.keyID,
            teamID: self.credentials.teamID
        )
    }

    /// The configuration of a provider that gives up early and reports to `outcomes`.
    func configuration(
        _ credentials: HTTP2Configuration.Credentials? = nil,
        _ outcomes: OutcomeCollector
    ) throws -> HTTP2Configuration {
        var configuration = HTTP2Configuration(
            host: "127.0.0.1",
            port: self.port,
            credentials: try credentials ?? .token(self.source()),
            topic: "com.example.ferry",
            outcomes: .sink(outcomes)
        )
        configuration.trustRoots = self.credentials.trustRoots
        configuration.serverName = "localhost"
        configuration.options.connectTimeout = Harness.forever
        configuration.options.attemptTimeout = Harness.forever
        configuration.options.deadline = Harness.forever
        configuration.options.connectionRetryLimit = 1
        configuration.options.backOff = .milliseconds(10) ... .milliseconds(20)
        return configuration
    }

    private func stop() async {
        try? await self.listener.close()
        for channel in self.state.channels.withLock({ $0 }) { try? await channel.close() }
    }
}

private final class RawAPNsHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var session: HTTP2Session
    private var block = HeaderBlock()
    private let behaviour: RawAPNs.Behaviour
    private let state: RawAPNs.State
    private let number: Int

    init(_ behaviour: @escaping RawAPNs.Behaviour, _ state: RawAPNs.State) throws {
        self.number = state.channels.withLock { $0.count }
        self.session = try HTTP2Session(role: .server)
        self.behaviour = behaviour
        self.state = state
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        self.write(context)
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            try self.unwrapInboundIn(data).withUnsafeReadableBytes { try self.session.receive($0) }
            while let event = self.session.nextEvent() {
                if case .ended(let stream) = event { try self.answer(stream) }
            }
        } catch {
            context.close(promise: nil)
        }
        self.write(context)
    }

    private func answer(_ stream: HTTP2Session.Stream) throws {
        var request = RawAPNs.Request()
        self.session.forEachField(of: stream) { name, value in
            request.fields[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
        }
        request.body = self.session.withBody(of: stream) { Array($0) }
        request.connection = self.number
        let sent = request
        self.state.requests.withLock { $0.append(sent) }
        guard let answer = self.behaviour(request) else { return }
        if answer.isRefusal { return self.session.reset(stream, errorCode: HTTP2ErrorCode.refusedStream.rawValue) }
        self.block.clear()
        self.block.append(":status", answer.status)
        if let id = request.fields["apns-id"]?.utf8.prefix(36) {
            self.block.append("apns-id", upTo: id.count, .literal) { target in
                for (index, byte) in id.enumerated() { target[index] = byte }
                return id.count
            }
        }
        try self.session.respond(to: stream, self.block, body: Array(answer.body.utf8))
    }

    private func write(_ context: ChannelHandlerContext) {
        var bytes = ByteBuffer()
        while self.session.write(into: &bytes, atMost: 64 << 10) {}
        if bytes.readableBytes > 0 { context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
