import Ferry
import FerryOpenSSL
import FerryTesting
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// Tests of a host with several addresses. Only the last one is good: 127.0.0.1. The bad ones count from 127.0.0.2.
#if os(Linux)
@Suite(.timeLimit(.minutes(10)))
struct OtherAddressTests {
    /// The behaviour of a bad address.
    enum Fault: String, CaseIterable {
        /// Accepts connections and stays silent.
        case silence
        /// Closes when the first bytes arrive.
        case closes
        case speaksNoTLS
        /// Shows a certificate of another authority.
        case isAnother
        case refuses
    }

    private final class Speaker: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let fault: Fault
        init(_ fault: Fault) { self.fault = fault }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.fault {
            case .closes: context.close(promise: nil)
            case .speaksNoTLS:
                context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: "220 mail\r\n")), promise: nil)
            case .silence, .isAnother, .refuses: break
            }
        }
    }

    /// Listens at `address`, with the port of the good address, while `body` runs. Counts the connections.
    private static func with(
        _ fault: Fault,
        at address: String,
        port: Int,
        _ body: (Counter) async throws -> Void
    ) async throws {
        let counter = Counter()
        guard fault != .refuses else { return try await body(counter) }
        let stranger = try TLSContext(server: .init(identity: ThrowAwayCA().server()))
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                counter.add()
                return channel.eventLoop.makeCompletedFuture {
                    let handlers: [any ChannelHandler] =
                        try fault == .isAnother ? [TLSHandler(server: stranger)] : [Speaker(fault)]
                    try channel.pipeline.syncOperations.addHandlers(handlers)
                }
            }
            .bind(host: address, port: port)
            .get()
        do {
            try await body(counter)
        } catch {
            try await listener.close()
            throw error
        }
        try await listener.close()
    }

    final class Counter: Sendable {
        private let value = Atomic<Int>(0)
        var count: Int { self.value.load(ordering: .relaxed) }
        func add() { self.value.add(1, ordering: .relaxed) }
    }

    private static func source(_ addresses: String...) -> HostAddresses.Source {
        { _, port in try addresses.map { try SocketAddress(ipAddress: $0, port: port) } }
    }

    @Test(arguments: Fault.allCases)
    func `the next address is tried within the time for connecting`(fault: Fault) async throws {
        try await Harness.run { harness in
            try await Self.with(fault, at: "127.0.0.2", port: harness.gateway.port) { counter in
                var configuration = harness.configuration
                configuration.host = "localhost"
                configuration.addressSource = Self.source("127.0.0.2", "127.0.0.1")
                configuration.options.connectTimeout = .seconds(60)
                let provider = try BinaryProvider(configuration)
                let events = provider.events(bufferingNewest: 1000)
                try await Harness.submit(0..<10, to: provider)
                #expect(await provider.shutDown(within: .seconds(60)).outcomes.accepted == 10)
                let failures = await events.all().filter { if case .socketError = $0 { true } else { false } }
                #expect(failures.isEmpty)
                #expect(counter.count == (fault == .refuses ? 0 : 1))
            }
        }
    }

    @Test func `when none is good, the error says what each did`() async throws {
        try await Harness.run { harness in
            try await Self.with(.closes, at: "127.0.0.2", port: harness.gateway.port) { _ in
                try await Self.with(.isAnother, at: "127.0.0.3", port: harness.gateway.port) { _ in
                    var configuration = harness.configuration
                    configuration.addressSource = Self.source("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
                    configuration.options.connectTimeout = .seconds(60)
                    configuration.options.connectionRetryLimit = 1
                    configuration.options.backOff = .milliseconds(10) ... .milliseconds(20)
                    let provider = try BinaryProvider(configuration)
                    let events = provider.events(bufferingNewest: 1000)
                    try await Harness.submit(0..<1, to: provider)
                    await harness.outcomes.count(reaches: 1)
                    _ = await provider.shutDown(within: .seconds(60))
                    for case .socketError(_, let error) in await events.all() {
                        #expect(error.code == .peerNotTrusted)
                        for words in [
                            "127.0.0.2: The connection ended in the middle of the TLS handshake",
                            "127.0.0.3: The peer's certificate",
                            "127.0.0.4, 127.0.0.5: Connection refused.",
                        ] {
                            #expect(error.message.contains(words), "\(error.message)")
                        }
                    }
                }
            }
        }
    }

    @Test func `an address that refuses the credentials is the end, because the others would refuse, too`() async throws
    {
        var script = GatewayScript()
        script.handshake = .refuseClient
        try await Harness.run(script) { harness in
            try await Self.with(.silence, at: "127.0.0.2", port: harness.gateway.port) { _ in
                var configuration = harness.configuration
                configuration.addressSource = Self.source("127.0.0.1", "127.0.0.2")
                let provider = try BinaryProvider(configuration)
                try await Harness.submit(0..<1, to: provider)
                await harness.outcomes.count(reaches: 1)
                #expect(harness.outcomes.all[0] == [.undelivered(.credentials)])
                _ = await provider.shutDown(within: .seconds(60))
            }
        }
    }

    @Test func `a feedback list is read from the other address`() async throws {
        let credentials = try TestCredentials()
        let service = try await SimulatedFeedback.start(.init(credentials: credentials))
        try await Self.with(.silence, at: "127.0.0.2", port: service.port) { counter in
            var configuration = FeedbackConfiguration(
                host: "localhost",
                port: service.port,
                identity: credentials.client
            )
            configuration.trustRoots = credentials.trustRoots
            configuration.addressSource = Self.source("127.0.0.2", "127.0.0.1")
            configuration.connectTimeout = .seconds(60)
            let sweep = try FeedbackReader(configuration).sweep()
            for try await _ in sweep {}
            #expect(sweep.report?.tuples == 0)
            #expect(counter.count == 1)
        }
        await service.stop()
    }
}
#endif
