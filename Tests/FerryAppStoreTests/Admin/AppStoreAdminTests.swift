import FerryAdmin
import FerryHTTP1
import FerrySQLite
import FerryServer
import Foundation
import NIOHTTP1
import Testing

@testable import FerryAppStore

/// The admin service of a receiver over real sockets, with a store.
@Suite(.timeLimit(.minutes(5))) struct AppStoreAdminTests {
    private struct Refusal: Error {}

    private struct Service {
        /// The results of deliveries, which the watch has counted.
        let deliveries: AsyncStream<AppStoreDeliveryEvent>
        let server: AdminServer
        let client: HTTPClient
        let receiver: AppStoreReceiver
        let signing: Signing

        func get(_ path: String) async throws -> (status: Int, body: String) {
            let url = try HTTPURL("http://127.0.0.1:\(self.server.port ?? 0)\(path)")
            let response = try await self.client.send(HTTPClientRequest(.GET, url), within: .seconds(60))
            return (response.status, String(decoding: response.body, as: UTF8.self))
        }

        func post(_ text: String) async -> Int {
            await self.receiver.answer(to: AppStoreRequest(body: Signing.post(text)))
        }

        /// Waits until a delivery has succeeded or failed.
        func nextDelivery() async {
            for await _ in self.deliveries { return }
        }

        /// The value of a series of the metrics, summed over its labels.
        func sum(_ text: String, _ name: String) -> Double {
            text.split(separator: "\n")
                .filter { $0.hasPrefix("ferry_appstore_\(name){") || $0.hasPrefix("ferry_appstore_\(name) ") }
                .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
        }
    }

    /// - Parameter fails: whether the application refuses what it gets.
    private static func run(fails: Bool = false, _ body: (Service) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let signing = try Signing()
        let destination = AppStoreDestination.handler("http://localhost:1/secret") { _ in
            if fails { throw Refusal() }
        }
        let watch = AppStoreWatch([destination])
        let (deliveries, continuation) = AsyncStream.makeStream(of: AppStoreDeliveryEvent.self)
        let store = AppStoreStore(path: folder.path("store.db"), destinations: watch.destinations) { event in
            watch.note(event)
            continuation.yield(event)
        }
        try await store.open()
        let receiver = AppStoreReceiver(
            try signing.verifier(),
            handOver: .store(store),
            answerLimit: .seconds(60)
        ) { watch.note($0) }
        // Each answer has a snapshot of its own, and so shows all that came before it.
        let routes = AppStoreAdmin.routes(
            watch,
            store,
            ProcessFacts(ferry: "1.0.0", storePath: folder.path("store.db")),
            lifetime: .zero
        ) { (ConnectionCounts(), 0) }
        let server = try await AdminServer.start(.init(port: .init(host: "127.0.0.1", number: 0))) {
            await routes.answer($0)
        }
        let delivering = Task { await store.run() }
        let outcome: Result<Void, any Error>
        do {
            let client = try HTTPClient()
            try await body(
                Service(
                    deliveries: deliveries,
                    server: server,
                    client: client,
                    receiver: receiver,
                    signing: signing
                )
            )
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        delivering.cancel()
        await delivering.value
        await server.stop()
        await store.close()
        try outcome.get()
    }

    @Test func `the sum of posts holds in every page of metrics`() async throws {
        try await Self.run { service in
            let copy = try service.signing.renewal()
            let stranger = try Signing()
            for number in 0..<30 {
                let post = try number.isMultiple(of: 3) ? copy : service.signing.renewal()
                let answer = await service.post(post)
                #expect(answer == 200)
                if number.isMultiple(of: 5) {
                    let refused = await service.post(try stranger.renewal())
                    #expect(refused == 403)
                }
                let text = try await service.get("/metrics").body
                #expect(
                    service.sum(text, "posts_total")
                        == service.sum(text, "taken_total") + service.sum(text, "copies_total")
                        + service.sum(text, "postponed_total") + service.sum(text, "refused_total")
                )
            }
            let text = try await service.get("/metrics").body
            #expect(service.sum(text, "posts_total") == 36)
            #expect(service.sum(text, "taken_total") == 21)
            #expect(service.sum(text, "copies_total") == 9)
            #expect(text.contains(#"ferry_appstore_refused_total{cause="forged"} 6"#))
        }
    }

    @Test func `page, status, metrics and health are there, and show of a URL scheme and host only`() async throws {
        try await Self.run { service in
            let post = try service.signing.renewal()
            let answer = await service.post(post)
            #expect(answer == 200)
            await service.nextDelivery()
            for path in ["/", "/status", "/metrics", "/health/live", "/health/ready", "/health/delivering"] {
                let page = try await service.get(path)
                #expect(page.status == 200, "\(path)")
                #expect(!page.body.contains("secret"), "\(path)")
            }
            let unknown = try await service.get("/list").status
            #expect(unknown == 404)
            let status = try JSONDecoder().decode(
                AppStoreStatus.self,
                from: Data(try await service.get("/status").body.utf8)
            )
            #expect(status.version == AppStoreStatus.version)
            #expect(status.destinations.map(\.name) == ["http://localhost:1"])
            #expect(status.store == .good)
        }
    }

    @Test func `a destination that refuses everything is failing, and the receiver stays ready`() async throws {
        try await Self.run(fails: true) { service in
            let post = try service.signing.renewal()
            let answer = await service.post(post)
            #expect(answer == 200)
            await service.nextDelivery()
            let ready = try await service.get("/health/ready").status
            #expect(ready == 200)
            let delivering = try await service.get("/health/delivering")
            #expect(delivering.status == 503)
            #expect(delivering.body.hasPrefix("Not delivering to http://localhost:1: the handler threw Refusal."))
        }
    }

    @Test func `the store counts what waits, what was given up, and how old it is`() async throws {
        let folder = try TemporaryFolder()
        let signing = try Signing()
        let file = try StoreFile.open(
            path: folder.path("store.db"),
            durability: .process,
            destinations: [.init(name: "app", needsPost: false)]
        ).file
        let verifier = try signing.verifier()
        let entries = try (1...3).map { number in
            StoreFile.Entry(
                notification: try verifier.verify(signedPayload: signing.renewal(transaction: "\(number)")),
                post: [],
                origin: .post,
                received: Int64(number * 1000)
            )
        }
        _ = try file.take(entries)
        let destination = try #require(file.number(ofDestination: "app"))
        try file.settle([.init(destination: destination, number: 1, result: .delivered)], now: 5000)
        try file.settle([.init(destination: destination, number: 2, result: .dead(because: "x"))], now: 5000)
        let figures = try file.figures()
        #expect(figures.kept == 3)
        #expect(
            figures.destinations == [.init(name: "app", isActive: true, waiting: 1, dead: 1, oldest: 3000)]
        )
        try file.tryWriting()
    }

    @Test func `two URLs of one host have names of their own`() {
        let names = AppStoreAdmin.shown(["https://a.example/x?token=1", "https://a.example/y", "app"])
        #expect(names == ["https://a.example", "https://a.example (2)", "destination"])
    }
}
