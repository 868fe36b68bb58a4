internal import Ferry
internal import FerryForwarding
internal import FerryPostgres
internal import FerryTesting
internal import FerryWorker
internal import NIOPosix

/// The benchmarks of the work queue: a worker, its provider and a simulated APNs in this process, over real TLS on loopback,
/// and a PostgreSQL beside it. APNs answers 100 ms late.
struct WorkerBench: Benchmark {
    enum Scenario: String, BenchScenario {
        case full = "worker-full"
        case filled = "worker-filled"

        var share: Double {
            switch self {
            case .full: 1
            case .filled: 0.5
            }
        }

        var note: String {
            switch self {
            case .full: "out of a full queue, 8 connections with 500 rows each, APNs answers after 100 ms"
            case .filled: "the same while as many rows are inserted"
            }
        }
    }

    private static let delay: Duration = .milliseconds(100)
    private static let topic = "com.example.ferry"
    /// The number of rows that the run `filled` keeps in the queue by inserting rows.
    private static let depth = 20_000
    /// The rows of one insert.
    private static let step = 1000
    /// A run fails when no row is accepted for this time.
    private static let patience: Duration = .seconds(30)

    let count: Int
    let threads = BenchThreads()
    private let postgres: String
    private let credentials: TestCredentials

    /// - Parameter postgres: the connection string of a database without Ferry's tables. Each run makes and removes them.
    init(count: Int, postgres: String) throws {
        self.count = count
        self.postgres = postgres
        self.credentials = try TestCredentials()
    }

    func run(_ scenario: Scenario) async throws -> BenchResult {
        var configuration = SimulatedAPNs.Configuration(credentials: self.credentials)
        configuration.script.answerDelay = Self.delay
        return try await BenchDatabase.with(self.postgres) { database in
            try await SimulatedAPNs.start(configuration, on: self.threads.servers).serving { apns in
                try await self.run(scenario, database, apns)
            }
        }
    }

    private func run(
        _ scenario: Scenario,
        _ database: BenchDatabase,
        _ apns: SimulatedAPNs
    ) async throws -> BenchResult {
        let total = self.count(of: scenario)
        var inserted = scenario == .full ? total : min(Self.depth, total)
        try await Self.insert(inserted, database)
        try await database.run("analyze ferry.push")
        var configuration = QueueWorker.Configuration(
            postgres: self.postgres,
            clients: [WorkerClient(name: "bench", upstream: 0, topics: [Self.topic])]
        )
        configuration.onEvent = { _ in }
        var http2 = self.credentials.http2(to: apns, try self.credentials.tokenSource(), outcomes: .discard)
        http2.eventLoopGroup = self.threads.clients
        let upstream = try WorkerUpstream.over(
            http2: http2,
            connections: configuration.connections,
            batch: configuration.batch
        )
        let result: BenchResult
        do {
            result = try await self.threads.measure(scenario.rawValue, scenario.note, count: total) {
                let worker = try await QueueWorker.start(
                    configuration,
                    upstreams: [upstream],
                    on: self.threads.clients.next()
                )
                try await self.deliver(total, &inserted, worker, database)
                await worker.stop(within: .seconds(5))
                return Latencies(nanoseconds: [])
            }
        } catch {
            _ = await upstream.provider.shutDown(within: .zero)
            throw error
        }
        _ = await upstream.provider.shutDown(within: .zero)
        let rows = try await database.run(
            "select count(*), (select count(*) from ferry.push) from ferry.outcome where word = 'accepted'"
        )
        let (outcomes, left) = (Int(rows.integer(0, 0) ?? 0), Int(rows.integer(0, 1) ?? 0))
        guard outcomes == total, left == 0, apns.counts.accepted == total else {
            throw BenchImbalance(
                description: "\(scenario.rawValue): of \(total) rows \(outcomes) have an accepted outcome, \(left) are "
                    + "left, and APNs accepted \(apns.counts.accepted) pushes."
            )
        }
        return result
    }

    /// Waits until each row was accepted. Keeps about ``depth`` rows in the queue until `total` rows were inserted.
    private func deliver(
        _ total: Int,
        _ inserted: inout Int,
        _ worker: QueueWorker,
        _ database: BenchDatabase
    ) async throws {
        var (last, since) = (0, ContinuousClock.now)
        while true {
            let done = await worker.figures.outcomes[.accepted] ?? 0
            guard done < total else { return }
            if done > last {
                (last, since) = (done, .now)
            } else if .now - since > Self.patience {
                throw BenchImbalance(description: "Of \(total) rows \(done) have an outcome, and no more come.")
            }
            let missing = min(total - inserted, Self.depth - (inserted - done))
            if missing >= Self.step {
                try await Self.insert(missing, database)
                inserted += missing
            } else if inserted < total, total - inserted < Self.step {
                try await Self.insert(total - inserted, database)
                inserted = total
            } else {
                try await Task.sleep(for: .milliseconds(2))
            }
        }
    }

    /// Inserts rows with payloads of 200 bytes, at most ``step`` (1,000) in each transaction.
    private static func insert(_ count: Int, _ database: BenchDatabase) async throws {
        for start in stride(from: 0, to: count, by: Self.step) {
            try await database.run(
                """
                insert into ferry.push (client, token, payload)
                  select 'bench', md5(random()::text) || md5(random()::text),
                    ('{"aps":{"alert":"' || repeat('x', 180) || '"}}')::json
                  from generate_series(1, $1::bigint)
                """,
                [.integer(Int64(min(Self.step, count - start)))]
            )
        }
    }
}
