import FerrySQLite
import Foundation
import Synchronization
import Testing

@testable import FerryAppStore

@Suite struct AppStoreStoreTests {
    private let folder: TemporaryFolder
    private let signing: Signing

    init() throws {
        self.folder = try TemporaryFolder()
        self.signing = try Signing()
    }

    private var path: String { self.folder.path("store.db") }

    private func notification(
        _ uuid: String,
        date: Date = .now,
        customer: String = "2000000000000001"
    ) throws -> AppStoreNotification {
        try self.signing.verifier().verify(
            signedPayload: self.signing.renewal(uuid: uuid, date: date, transaction: customer)
        )
    }

    private static let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

    /// Runs a store until `count` deliveries have succeeded, and returns them in their order.
    private func deliveries(
        _ count: Int,
        _ body: (AppStoreStore) async throws -> Void,
        failing: @escaping @Sendable (AppStoreDelivery) -> Bool = { _ in false }
    ) async throws -> [AppStoreDelivery] {
        struct Failure: Error {}
        let (stream, continuation) = AsyncStream.makeStream(of: AppStoreDelivery.self)
        let destination = AppStoreDestination.handler("app") { delivery in
            if failing(delivery) { throw Failure() }
            continuation.yield(delivery)
        }
        let store = AppStoreStore(path: self.path, destinations: [destination])
        try await store.open()
        try await body(store)
        let running = Task { await store.run() }
        var result: [AppStoreDelivery] = []
        for await delivery in stream {
            result.append(delivery)
            if result.count == count { break }
        }
        running.cancel()
        await running.value
        await store.close()
        return result
    }

    @Test func `a notification is stored once, even after a restart`() async throws {
        let notification = try self.notification("A")
        let store = AppStoreStore(path: self.path)
        try await store.open()
        #expect(await store.take(notification, post: []) == .taken(isNew: true))
        #expect(await store.take(notification, post: []) == .taken(isNew: false))
        await store.close()
        guard case .failed = await store.take(notification, post: []) else {
            Issue.record("it was taken")
            return
        }
        let again = AppStoreStore(path: self.path)
        #expect(await again.take(notification, post: []) == .taken(isNew: false))
        let stored = try #require(try await again.notification(uuid: "A"))
        #expect(stored.notification == notification)
        #expect(stored.number == 1)
        await again.close()
        let mode = try FileManager.default.attributesOfItem(atPath: self.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test
    func `notifications of one customer are delivered in the order of signing, and a stale one says so`() async throws {
        let start = Date(timeIntervalSince1970: 1_790_000_000)
        let deliveries = try await self.deliveries(4) { store in
            for (uuid, offset) in [("late", 30.0), ("early", 10), ("middle", 20)] {
                _ = await store.take(try self.notification(uuid, date: start + offset), post: [])
            }
            _ = await store.take(try self.notification("other", date: start, customer: "7"), post: [])
        }
        let ofCustomer = deliveries.filter { $0.notification.customer != "7" }
        #expect(ofCustomer.map(\.notification.uuid) == ["early", "middle", "late"])
        #expect(deliveries.allSatisfy { !$0.isStale && $0.attempt == 1 })
        let older = try await self.deliveries(1) { store in
            _ = await store.take(try self.notification("oldest", date: start), post: [])
        }
        #expect(older.map(\.isStale) == [true])
    }

    @Test func `a delivery that fails is tried again, and the customer's next one waits for it`() async throws {
        let start = Date(timeIntervalSince1970: 1_790_000_000)
        let deliveries = try await self.deliveries(3) { store in
            _ = await store.take(try self.notification("first", date: start), post: [])
            _ = await store.take(try self.notification("second", date: start + 1), post: [])
            _ = await store.take(try self.notification("other", date: start, customer: "7"), post: [])
        } failing: { delivery in
            delivery.notification.uuid == "first" && delivery.attempt == 1
        }
        #expect(deliveries.map(\.notification.uuid) == ["other", "first", "second"])
        #expect(deliveries.map(\.attempt) == [1, 2, 1])
    }

    @Test func `a list gives the reason of the last failure until the notification is delivered`() async throws {
        let file = try StoreFile.open(
            path: self.path,
            durability: .process,
            destinations: [.init(name: "app", needsPost: false)]
        ).file
        let destination = try #require(file.number(ofDestination: "app"))
        func settle(_ result: StoreFile.Attempt.Result) throws -> String? {
            try file.settle([.init(destination: destination, number: 1, result: result)], now: 1)
            let line = try #require(try file.list(limit: 1, before: nil, state: nil).first)
            let delivery = try #require(line.deliveries.first)
            let shown = String(decoding: line.summary, as: UTF8.self)
            #expect(shown.contains("\"failure\":") == (delivery.failure != nil))
            return delivery.failure
        }
        _ = try file.take([.init(notification: self.notification("A"), post: [], origin: .post, received: 1)])
        #expect(try settle(.again(at: 2, because: "it redirects\nto x")) == "it redirects\\u{A}to x")
        #expect(try settle(.again(at: 2, because: nil)) == "it redirects\\u{A}to x")
        #expect(try settle(.again(at: 2, because: String(repeating: "x", count: 10_000)))?.count == 400)
        #expect(try settle(.dead(because: "403")) == "403")
        #expect(try settle(.delivered) == nil)
    }

    @Test func `a destination that begins to need posts gets none from the time before`() async throws {
        let url = "http://localhost:1/"
        let before = AppStoreStore(path: self.path, destinations: [try .forward(to: url, secrets: [Self.secret])])
        try await before.open()
        #expect(await before.take(try self.notification("A"), post: [1]) == .taken(isNew: true))
        await before.close()
        let (failures, continuation) = AsyncStream.makeStream(of: String.self)
        let store = AppStoreStore(path: self.path, destinations: [try .forwardPost(to: url)]) { event in
            if case .failed(_, _, let reason, _) = event { continuation.yield(reason) }
        }
        try await store.open()
        let running = Task { await store.run() }
        for await reason in failures {
            #expect(reason.contains("was not kept"))
            break
        }
        running.cancel()
        await running.value
        await store.close()
    }

    @Test func `a list has only the deliveries in the requested state`() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let destination = AppStoreDestination.handler("app") { _ in continuation.yield() }
        let store = AppStoreStore(path: self.path, destinations: [destination])
        try await store.open()
        _ = await store.take(try self.notification("A"), post: [])
        func uuids(_ state: StoredNotification.Delivery.State?) async throws -> [String] {
            try await store.list(state: state).map(\.notification.uuid)
        }
        #expect(try await uuids(.waiting) == ["A"])
        #expect(try await uuids(.delivered) == [])
        let running = Task { await store.run() }
        for await _ in stream { break }
        // Ends when the delivery was noted.
        await store.end(within: .seconds(60))
        await running.value
        #expect(try await uuids(.waiting) == [])
        #expect(try await uuids(.delivered) == ["A"])
        #expect(try await uuids(.dead) == [])
        #expect(try await uuids(nil) == ["A"])
        await store.close()
    }

    @Test func `notifications for a URL that is gone, or from a time without one, go to the present URLs on request`()
        async throws
    {
        let none = AppStoreStore(path: self.path)
        #expect(try await none.open() == nil)
        _ = await none.take(try self.notification("none"), post: [])
        await none.close()
        let old = AppStoreStore(path: self.path, destinations: [.handler("old") { _ in }])
        #expect(try await old.open()?.contains("--unsent") == true)
        _ = await old.take(try self.notification("first", date: .now - 2), post: [])
        _ = await old.take(try self.notification("second", date: .now - 1), post: [])
        await old.close()
        let delivered = try await self.deliveries(3) { store in
            let counts = [try await store.deliverUnsent(), try await store.deliverUnsent()]
            #expect(counts == [3, 0])
        }
        #expect(Set(delivered.map(\.notification.uuid)) == ["none", "first", "second"])
        let again = AppStoreStore(path: self.path, destinations: [.handler("app") { _ in }])
        #expect(try await again.open() == nil)
        #expect(try await again.list().allSatisfy { $0.deliveries.map(\.destination) == ["app"] })
        await again.close()
    }

    @Test func `a file that was removed or replaced accepts nothing more`() async throws {
        let store = AppStoreStore(path: self.path)
        try await store.open()
        #expect(await store.take(try self.notification("A"), post: []) == .taken(isNew: true))
        try FileManager.default.removeItem(atPath: self.path)
        for _ in 0..<2 {
            guard case .failed(let reason) = await store.take(try self.notification("B"), post: []) else {
                Issue.record("it was taken")
                return
            }
            #expect(reason.contains("was removed or replaced"))
            try Data().write(to: URL(filePath: self.path))
        }
        await store.close()
    }

    @Test func `a clock that was set back delays a delivery by an hour at most, and later ones no longer`() throws {
        let now: Int64 = 1_790_000_000_000
        let (file, _) = try StoreFile.open(
            path: self.path,
            durability: .process,
            destinations: [.init(name: "app", needsPost: false)]
        )
        func take(_ uuid: String, at time: Int64) throws {
            let entry = StoreFile.Entry(
                notification: try self.notification(uuid, date: Date(timeIntervalSince1970: Double(time) / 1000)),
                post: [],
                origin: .post,
                received: time
            )
            #expect(try file.take([entry]) == [true])
        }
        try take("ahead", at: now + 365 * 86_400_000)
        try take("right", at: now + 365 * 86_400_000 + 1)
        let destination = try #require(file.number(ofDestination: "app"))
        let due = try file.due(destination, now: now, limit: 10).deliveries
        #expect(due.map(\.notification.uuid) == ["ahead"])
        #expect(due.map(\.failing) == [.zero])
        try file.settle([.init(destination: destination, number: due[0].number, result: .delivered)], now: now)
        #expect(try file.due(destination, now: now, limit: 10).deliveries.map(\.notification.uuid) == ["right"])
    }

    @Test func `a destination of posts gets no member that Apple did not sign`() async throws {
        let store = AppStoreStore(path: self.path, destinations: [try .forwardPost(to: "http://localhost:1/")])
        try await store.open()
        let notification = try self.notification("A")
        _ = await store.take(notification, post: Array(#"{"bid":"evil","signedPayload":"a.b.c"}"#.utf8))
        await store.close()
        let (file, _) = try StoreFile.open(path: self.path, durability: .process, destinations: nil)
        let destination = try #require(file.number(ofDestination: "http://localhost:1/"))
        let due = try file.due(destination, now: .max / 2, limit: 1).deliveries
        #expect(due.map { String(decoding: $0.post, as: UTF8.self) } == [#"{"signedPayload":"a.b.c"}"#])
    }

    @Test func `a closed store does not open again`() async throws {
        let store = AppStoreStore(path: self.path)
        try await store.open()
        await store.close()
        await #expect(throws: AppStoreStoreError.self) { try await store.open() }
    }

    @Test func `a notification that was not delivered before the end is delivered after a restart`() async throws {
        let store = AppStoreStore(path: self.path, destinations: [.handler("app") { _ in }])
        try await store.open()
        for number in 0..<100 {
            _ = await store.take(try self.notification("N\(number)", customer: "\(number)"), post: [])
        }
        await store.close()
        let delivered = try await self.deliveries(100) { _ in }
        #expect(Set(delivered.map(\.notification.uuid)).count == 100)
    }

    @Test func `a delivered notification is delivered again on request`() async throws {
        _ = try await self.deliveries(1) { store in _ = await store.take(try self.notification("A"), post: []) }
        let again = try await self.deliveries(1) { store in
            let delivered = try await store.list(state: .delivered)
            #expect(delivered.map(\.notification.uuid) == ["A"])
            let counts = [try await store.redeliver(uuid: "B"), try await store.redeliver(uuid: "A")]
            #expect(counts == [0, 1])
        }
        #expect(again.map(\.notification.uuid) == ["A"])
    }

    @Test func `a file of another process is refused with a sentence, and opens when it is free`() async throws {
        let first = AppStoreStore(path: self.path)
        try await first.open()
        let second = AppStoreStore(path: self.path)
        await #expect(throws: AppStoreStoreError.self) { try await second.open() }
        guard case .failed = await second.take(try self.notification("A"), post: []) else {
            Issue.record("it was taken")
            return
        }
        await first.close()
        try await second.open()
        #expect(await second.take(try self.notification("A"), post: []) == .taken(isNew: true))
        await second.close()
    }

    @Test func `a store that has lost its last commits does not open`() async throws {
        let store = AppStoreStore(path: self.path)
        try await store.open()
        _ = await store.take(try self.notification("A"), post: [])
        await store.close()
        try FileManager.default.removeItem(atPath: self.path)
        await #expect(throws: AppStoreStoreError.self) { try await AppStoreStore(path: self.path).open() }
    }
    @Test func `the mark of an earlier release beside a link becomes the mark of the store`() async throws {
        let store = AppStoreStore(path: self.path)
        try await store.open()
        _ = await store.take(try self.notification("A"), post: [])
        await store.close()
        let (link, mark) = (self.folder.path("link.db"), "\(self.path)-mark")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: self.path)
        try FileManager.default.moveItem(atPath: mark, toPath: "\(link)-mark")
        try HighWaterMark(path: "\(link)-mark").advance(to: 9)
        for _ in 1...2 {
            let error = await #expect(throws: AppStoreStoreError.self) { try await AppStoreStore(path: link).open() }
            #expect(error?.code == .damaged)
            #expect(error?.description.contains("it ends with 1, and 9 was acknowledged") == true)
        }
        #expect(!self.folder.names.contains("link.db-mark"))
        try HighWaterMark(path: mark).advance(to: 1)
        let again = AppStoreStore(path: link)
        try await again.open()
        #expect(await again.take(try self.notification("B"), post: []) == .taken(isNew: true))
        await again.close()
        #expect(try HighWaterMark.contents(of: link).map(\.number) == [2])
    }
}
