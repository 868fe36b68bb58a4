import Ferry
import FerryOpenSSL
import FerryPlatform
import FerryServer
import FerryTesting
import NIOCore
import NIOPosix
import Testing

@testable import FerryGateway

/// The gateway's feedback service over real sockets, with readers of every kind.
@Suite(.timeLimit(.minutes(10))) struct GatewayFeedbackTests {
    /// How a reader ends.
    private enum Ending {
        /// Without close_notify, after everything was read: as PyAPNs does.
        case closesSocket
        /// After its first rows, with others unread.
        case closesUnread
        /// At the end, as Go's reader: a row that comes together with the end is not seen.
        case dropsLast
        /// With close_notify, after everything was read.
        case answersEnd
    }

    /// Counts the rows that it reads, of ten bytes each, and ends the connection in its own way.
    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let ending: Ending
        private let tls: TLSHandler
        private let count: EventLoopPromise<Int>
        private var bytes = 0
        /// The bytes since the last pause.
        private var fresh = 0

        init(_ ending: Ending, _ tls: TLSHandler, _ count: EventLoopPromise<Int>) {
            self.ending = ending
            self.tls = tls
            self.count = count
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let count = self.unwrapInboundIn(data).readableBytes
            self.bytes += count
            self.fresh += count
            if case .closesUnread = self.ending { self.closeSocket(context) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case ChannelEvent.inputClosed = event else { return }
            if case .dropsLast = self.ending, self.fresh > 0 { self.bytes -= 10 }
            if case .answersEnd = self.ending { context.close(promise: nil) } else { self.closeSocket(context) }
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            self.fresh = 0
            context.fireChannelReadComplete()
        }

        /// Closes below TLS, so that no close_notify is sent.
        private func closeSocket(_ context: ChannelHandlerContext) {
            try? context.pipeline.syncOperations.context(handler: self.tls).close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { self.count.succeed(self.bytes / 10) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }

    /// - Parameter header: the header of a proxy before the reader.
    private func read(_ harness: GatewayHarness, _ ending: Ending, header: String = "") async throws -> Int {
        let tls = try TLSContext(
            client: .init(trustRoots: harness.credentials.trustRoots, identity: harness.credentials.client)
        )
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let port = try #require(harness.gateway.feedbackPort)
        let count = loop.makePromise(of: Int.self)
        _ = try await ClientBootstrap(group: loop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try TLSHandler(client: tls, serverName: "localhost")
                    let header = FirstBytes(header)
                    try channel.pipeline.syncOperations.addHandlers(header, handler, Reader(ending, handler, count))
                }
            }
            .connect(host: harness.gateway.host, port: port).get()
        return try await count.futureResult.get()
    }

    private func withRows(
        _ count: Int,
        proxies: TrustedProxies = TrustedProxies(),
        _ body: (GatewayHarness) async throws -> Void
    ) async throws {
        let gone = try Set((0..<count).map { try GatewayHarness.device($0) })
        try await GatewayHarness.run([.reject(gone, reason: .unregistered)]) {
            // The provider connects to the first door, without a proxy.
            var readers = $0.doors[0]
            readers.feedbackPort = 0
            readers.proxies = proxies
            $0.doors.append(readers)
        } _: { harness in
            let notification = try PushNotification(Payload(alert: "Hello"))
            _ = try await withProvider(harness.client) { provider in
                for number in 0...count {
                    var batch = PushBatch()
                    try batch.append(notification, to: GatewayHarness.device(number), tag: PushTag(UInt64(number)))
                    try await provider.submit(&batch)
                }
                return await provider.shutDown(within: GatewayHarness.forever)
            }
            // The client takes silence for acceptance: APNs may answer later.
            while try await harness.gateway.counts.gone < count { await Task.yield() }
            try await body(harness)
        }
    }

    @Test func `a reader that closes its socket without a word has read everything`() async throws {
        try await self.withRows(3) { harness in
            let first = try await self.read(harness, .closesSocket)
            let second = try await self.read(harness, .closesSocket)
            #expect(first == 3)
            #expect(second == 0)
        }
    }

    @Test func `the rows of a shared store are removed there after they were read, and not before`() async throws {
        let store = SharedMemoryStore()
        let rows = (1...8000).map {
            FeedbackRows.Row(
                token: [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0), 0, 0],
                since: 1
            )
        }
        store.list(rows, of: "old stack")
        try await GatewayHarness.run {
            $0.store = store
            $0.feedbackPort = 0
        } _: { harness in
            _ = try await self.read(harness, .closesUnread)
            var rest = 0
            for _ in 0..<100 where rest == 0 { rest = try await self.read(harness, .closesSocket) }
            #expect(rest == rows.count)
            let last = try await self.read(harness, .closesSocket)
            #expect(last == 0 && store.rows(of: "old stack").isEmpty)
        }
    }

    @Test func `a reader that drops what comes together with the end gets the last row, too`() async throws {
        try await self.withRows(5) { harness in
            let first = try await self.read(harness, .dropsLast)
            let second = try await self.read(harness, .dropsLast)
            #expect(first == 5)
            #expect(second == 0)
        }
    }

    @Test func `a reader that breaks off leaves its rows to the next`() async throws {
        // More than a reader gets at once, so that the rest is unread when it closes.
        let count = 8000
        try await self.withRows(count) { harness in
            _ = try await self.read(harness, .closesUnread)
            // The gateway may notice the end of the first reader later than the reader does.
            var rest = 0
            for _ in 0..<100 where rest == 0 { rest = try await self.read(harness, .closesSocket) }
            #expect(rest == count)
        }
    }

    @Test func `through a proxy, only a reader that says its end has read everything`() async throws {
        let proxies = try TrustedProxies([#require(IPNetwork("127.0.0.1"))])
        let header = "PROXY TCP4 198.51.100.7 203.0.113.1 56324 2196\r\n"
        try await self.withRows(3, proxies: proxies) { harness in
            for ending in [Ending.closesSocket, .closesSocket, .answersEnd] {
                // The gateway may notice the end of the reader before it later than that reader does.
                var count = 0
                while count == 0 { count = try await self.read(harness, ending, header: header) }
                #expect(count == 3)
            }
            #expect(try await self.read(harness, .answersEnd, header: header) == 0)
        }
    }
}
