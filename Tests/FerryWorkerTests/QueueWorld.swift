import Ferry
import FerryCore
import FerryForwarding
import FerryPostgres
import FerryPostgresTestSupport
import FerryTesting
import FerryWorker
import NIOCore
import NIOPosix
import Testing

/// A database with a queue, a simulated APNs, and any number of workers between them.
final class QueueWorld: Sendable {
    static let topic = "com.example.ferry"
    static var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

    let server: PostgresServer
    let database: String
    let apns: SimulatedAPNs
    let credentials: TestCredentials
    let record = PushRecord()
    private let workers = Locked<[(worker: QueueWorker, upstreams: [WorkerUpstream])]>([])
    let events = Locked<[QueueWorker.Event]>([])

    /// - Parameter change: changes the behaviour of APNs.
    init(_ change: (inout HTTP2Script) -> Void = { _ in }) async throws {
        self.server = try #require(PostgresServer.shared)
        self.database = try self.server.database()
        self.credentials = try TestCredentials()
        let setup = PostgresSetup(self.server.connection(to: self.database))
        _ = try await setup.make(shards: 1)
        setup.close()
        var configuration = SimulatedAPNs.Configuration(credentials: self.credentials)
        configuration.recorder = self.record
        change(&configuration.script)
        self.apns = try await SimulatedAPNs.start(configuration)
    }

    /// Starts a worker.
    ///
    /// - Parameters:
    ///   - clients: nil for one client, `shop`.
    ///   - upstreams: changes the configuration of each upstream; nil for one upstream.
    @discardableResult
    func work(
        connections: Int = 4,
        batch: Int = 100,
        clients: [WorkerClient]? = nil,
        upstreams: [(inout HTTP2Configuration) -> Void]? = nil,
        _ change: (inout QueueWorker.Configuration) -> Void = { _ in }
    ) async throws -> QueueWorker {
        let tokens = try self.credentials.tokenSource()
        let made = try (upstreams ?? [{ _ in }]).map { change in
            var http2 = self.credentials.http2(to: self.apns, tokens, outcomes: .discard)
            change(&http2)
            return try WorkerUpstream.over(http2: http2, connections: connections, batch: batch)
        }
        var configuration = QueueWorker.Configuration(
            postgres: self.server.connection(to: self.database),
            clients: clients ?? [WorkerClient(name: "shop", upstream: 0, topics: [Self.topic])]
        )
        configuration.connections = connections
        configuration.batch = batch
        configuration.onEvent = { event in self.events.withLock { $0.append(event) } }
        change(&configuration)
        let loop = Self.loop
        let worker = try await QueueWorker.start(configuration, upstreams: made, on: loop)
        self.workers.withLock { $0.append((worker, made)) }
        return worker
    }

    /// Stops the workers.
    func stopWorkers(within limit: Duration = .seconds(5)) async {
        let workers = self.workers.withLock { workers in
            defer { workers = [] }
            return workers
        }
        for (worker, upstreams) in workers {
            await worker.stop(within: limit)
            for upstream in upstreams { _ = await upstream.provider.shutDown(within: .zero) }
        }
    }

    func end() async {
        await self.stopWorkers()
        await self.apns.stop()
    }

    /// Inserts `count` rows with tokens that begin with `prefix`, two hex digits.
    func insert(_ count: Int, client: String = "shop", prefix: String = "00", columns: [String: String] = [:]) throws {
        let names = columns.keys.sorted()
        let values = names.map { ", \(columns[$0] ?? "null")" }.joined()
        try self.query(
            """
            insert into ferry.push (client, token, payload\(names.map { ", \($0)" }.joined()))
              select '\(client)', '\(prefix)' || lpad(to_hex(g), 62, '0'), '{"aps":{"alert":"Hello"}}'\(values)
              from generate_series(1, \(count)) g
            """
        )
    }

    @discardableResult
    func query(_ sql: String) throws -> String { try self.server.query(sql, in: self.database) }

    /// Waits until a query gives `result`.
    func wait(for result: String, from sql: String) async throws {
        while true {
            let found = try self.query(sql)
            if found == result { return }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until the queue is empty.
    func drain() async throws { try await self.wait(for: "0", from: "select count(*) from ferry.push") }

    func waitForEvent(_ matches: (QueueWorker.Event) -> Bool) async throws {
        while !self.events.withLock({ $0.contains(where: matches) }) { try await Task.sleep(for: .milliseconds(10)) }
    }
}

/// The pushes that APNs accepted.
final class PushRecord: APNsRecorder {
    private let pushes = Locked<[(id: String, request: AcceptedRequest)]>([])

    func accepted(_ request: AcceptedRequest, token: Span<UInt8>, payload: Span<UInt8>) {
        self.pushes.withLock { $0.append((request.apnsID ?? "", request)) }
    }

    var requests: [AcceptedRequest] { self.pushes.withLock { $0.map(\.request) } }

    var count: Int { self.pushes.withLock(\.count) }

    /// The number of pushes beyond the first with each `apns-id`.
    var doubled: Int { self.pushes.withLock { $0.count - Set($0.map(\.id)).count } }
}
