import FerryAppStore
import FerryAppStoreTesting
import FerryOpenSSL
import FerryServer
import FerryTesting
import Foundation
import NIOHTTP1
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct AppStoreSenderTests {
    private static let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))

    private static func sender(
        _ maker: NotificationMaker,
        port: Int,
        credentials: TestCredentials? = nil,
        path: String = "/app-store",
        configure: (inout AppStoreSender.Configuration) -> Void = { _ in }
    ) throws -> AppStoreSender {
        let scheme = credentials == nil ? "http" : "https"
        var configuration = AppStoreSender.Configuration(
            url: "\(scheme)://127.0.0.1:\(port)\(path)",
            signer: maker.signer
        )
        if let credentials { configuration.trustRoots = credentials.trustRoots }
        configuration.clock = .jumping(from: Self.start)
        configure(&configuration)
        return try AppStoreSender(configuration)
    }

    private static func maker() throws -> NotificationMaker {
        try NotificationMaker(app: SimulatedNotificationTests.app)
    }

    @Test func `two hundred posts arrive over HTTPS, many at a time, on a few connections`() async throws {
        var maker = try Self.maker()
        let credentials = try TestCredentials()
        let receiver = try await AppReceiver.start(credentials: credentials)
        let sender = try Self.sender(maker, port: receiver.port, credentials: credentials)
        for _ in 0..<200 { sender.add(maker.makeVersion1(.init(.didRenew))) }
        await sender.run()
        let posts = receiver.posts
        #expect(Set(posts.map(\.body)) == Set(sender.records.map(\.notification.post)))
        #expect(Set(posts.map(\.connection)).count <= 16)
        #expect(sender.records.allSatisfy { $0.state == .delivered })
        let head = try #require(posts.first?.head)
        #expect(head.uri == "/app-store")
        #expect(head.headers["User-Agent"].first?.hasPrefix("Apache-HttpClient/4.5") == true)
        await receiver.stop()
    }

    @Test func `a server that was down for a day and a half gets everything at the next attempt`() async throws {
        var maker = try Self.maker()
        let first = try await AppReceiver.start { _ in .status(503) }
        let port = first.port
        let sender = try Self.sender(maker, port: port)
        for kind in SimulatedNotification.Kind.version2.prefix(5) { sender.add(try maker.make(kind)) }
        await sender.run(until: Self.start.addingTimeInterval(3600 * 2))
        await first.stop()
        await sender.run(until: Self.start.addingTimeInterval(3600 * 36))
        #expect(sender.now == Self.start.addingTimeInterval(3600 * 36))
        let second = try await AppReceiver.start(port: port)
        await sender.run()
        for record in sender.records {
            #expect(
                record.attempts.map(\.answer.result)
                    == [.unsuccessfulStatus, .unsuccessfulStatus, .socketIssue, .success]
            )
            #expect(record.attempts.last?.date == Self.start.addingTimeInterval(3600 * 37))
        }
        #expect(second.posts.count == 5)
        await second.stop()
    }

    @Test(arguments: [
        ("nothing", AppReceiver.Reply.silence, SendAttemptResult.timedOut), ("close", .close, .noResponse),
        ("garbage", .garbage, .invalidResponse), ("half", .half, .prematureClose),
        ("redirect", .status(302, location: "/other"), .unsuccessfulStatus),
        ("circle", .status(307, location: "/app-store"), .circularRedirect), ("201", .status(201), .success),
        ("relative", .status(302, location: "app-store"), .unsuccessfulStatus),
    ])
    func `each answer has Apple's word`(
        _ name: String,
        _ reply: AppReceiver.Reply,
        _ word: SendAttemptResult
    ) async throws {
        var maker = try Self.maker()
        maker.environment = .sandbox
        for credentials in [nil, try TestCredentials()] {
            let receiver = try await AppReceiver.start(credentials: credentials) { _ in reply }
            let sender = try Self.sender(maker, port: receiver.port, credentials: credentials) {
                if word == .timedOut { $0.timeout = .milliseconds(300) }
            }
            sender.add(try maker.make(.init(.didRenew)))
            await sender.run()
            #expect(sender.records[0].attempts.map(\.answer.result) == [word])
            #expect(receiver.posts.count == 1)
            await receiver.stop()
        }
    }

    @Test func `a certificate that is not trusted is a TLS issue, and a closed port a socket issue`() async throws {
        var maker = try Self.maker()
        maker.environment = .sandbox
        let (one, other) = (try TestCredentials(), try TestCredentials())
        let receiver = try await AppReceiver.start(credentials: one)
        let sender = try Self.sender(maker, port: receiver.port, credentials: other)
        sender.add(try maker.make(.init(.test)))
        await sender.run()
        #expect(sender.records[0].attempts.map(\.answer.result) == [.tlsIssue])
        await receiver.stop()
        sender.add(try maker.make(.init(.test)))
        await sender.run()
        #expect(sender.records[1].attempts.map(\.answer.result) == [.socketIssue])
    }

    @Test func `a handshake that takes too long is a TLS issue`() async throws {
        var maker = try Self.maker()
        maker.environment = .sandbox
        let listener = try await Listener.bind(Listener.Configuration(), on: nil) { _ in nil }
        let sender = try Self.sender(maker, port: listener.port, credentials: TestCredentials()) {
            $0.timeout = .milliseconds(300)
        }
        sender.add(try maker.make(.init(.test)))
        await sender.run()
        #expect(sender.records[0].attempts.map(\.answer.result) == [.tlsIssue])
        await listener.stop(within: .seconds(1))
    }

    @Test func `cut, slow and impatient posts are sent again, and every notification arrives whole`() async throws {
        var maker = try Self.maker()
        let credentials = try TestCredentials()
        let receiver = try await AppReceiver.start(credentials: credentials)
        let attempts = Mutex<[NotificationSender.Attempt]>([])
        let sender = try Self.sender(maker, port: receiver.port, credentials: credentials) {
            $0.options.cuts = 0.2
            $0.options.slowBodies = 0.2
            $0.options.impatience = 0.2
            $0.options.duplicates = 0.2
            $0.options.reordered = 0.2
            $0.onAttempt = { _, attempt in attempts.withLock { $0.append(attempt) } }
        }
        for kind in SimulatedNotification.Kind.version2 where kind.type != .consumptionRequest {
            sender.add(try maker.make(kind))
        }
        await sender.run()
        let records = sender.records
        #expect(records.allSatisfy { $0.isDelivered })
        #expect(Set(attempts.withLock { $0.map(\.delivery) }) == Set(NotificationSender.Delivery.allCases))
        #expect(Set(receiver.posts.filter(\.isWhole).map(\.body)) == Set(records.map(\.notification.post)))
        let cut = attempts.withLock { $0.filter { $0.delivery == .cut } }
        #expect(cut.allSatisfy { $0.answer.result == .prematureClose })
        #expect(receiver.posts.contains { !$0.isWhole })
        await receiver.stop()
    }

    @Test func `a sender that serves posts what is added while it runs, and ends with its task`() async throws {
        var maker = try Self.maker()
        let receiver = try await AppReceiver.start()
        let (words, continuation) = AsyncStream.makeStream(of: SendAttemptResult.self)
        let sender = try Self.sender(maker, port: receiver.port) {
            $0.clock = .running(speed: 1000)
            $0.onAttempt = { _, attempt in continuation.yield(attempt.answer.result) }
        }
        let run = Task { await sender.serve() }
        var iterator = words.makeAsyncIterator()
        for _ in 0..<3 {
            sender.add(try maker.make(.init(.test)))
            #expect(await iterator.next() == .success)
        }
        run.cancel()
        await run.value
        await receiver.stop()
    }

    @Test func `an address that is not one of HTTP is refused`() throws {
        let maker = try Self.maker()
        for url in ["", "ftp://example.com/", "example.com/app-store", "https://"] {
            #expect(throws: AppStoreSender.AddressError.self) {
                try AppStoreSender(.init(url: url, signer: maker.signer))
            }
        }
    }
}
