internal import FerryGateway
internal import FerryPostgres
internal import FerryShards
internal import NIOCore
internal import NIOPosix

/// The benchmarks of a shard's commits in PostgreSQL. Each commit waits for the answer to the one before it.
struct StoreBench: Benchmark {
    enum Scenario: String, BenchScenario {
        case bare20 = "bare-20k"
        case store20 = "store-20k"
        case bare200 = "bare-200k"
        case store200 = "store-200k"

        var share: Double {
            switch self {
            case .bare20, .store20: 1
            case .bare200, .store200: 0.5
            }
        }

        /// The length of a segment in bytes.
        var length: Int {
            switch self {
            case .bare20, .store20: 20_000
            case .bare200, .store200: 200_000
            }
        }

        /// Whether the rows are inserted with libpq alone. The store's commits are compared with these inserts.
        var isBare: Bool { self == .bare20 || self == .bare200 }

        var note: String {
            (self.isBare ? "inserts without the store" : "commits of a shard's store")
                + ", \(self.length / 1000) KB each, one at a time"
        }
    }

    let count: Int
    let threads = BenchThreads()
    private let postgres: String

    /// - Parameter postgres: the connection string of a database without Ferry's tables. Each run makes and removes them.
    init(count: Int, postgres: String) {
        self.count = count
        self.postgres = postgres
    }

    func run(_ scenario: Scenario) async throws -> BenchResult {
        try await BenchDatabase.with(self.postgres) { database in
            let count = self.count(of: scenario)
            let warmUp = count / 10
            let result =
                scenario.isBare
                ? try await self.runBare(scenario, warmUp, count)
                : try await self.run(scenario, warmUp, count, database)
            let rows = try await database.run("select count(*) from ferry.segment").integer(0, 0) ?? 0
            guard rows == warmUp + count else {
                throw BenchImbalance(
                    description: "\(scenario.rawValue): of \(warmUp + count) segments \(rows) are in the table."
                )
            }
            return result
        }
    }

    private func runBare(_ scenario: Scenario, _ warmUp: Int, _ count: Int) async throws -> BenchResult {
        let segment = Self.segment(scenario)
        let (postgres, eventLoop) = (self.postgres, self.threads.clients.next())
        // The event loop has nothing else to do, so it may block.
        let inserts = try await eventLoop.submit { try NIOLoopBound(BareInserts(postgres), eventLoop: eventLoop) }.get()
        try await eventLoop.submit {
            for number in 0..<warmUp { try inserts.value.insert(segment, number: number) }
        }
        .get()
        return try await self.threads.measure(scenario.rawValue, scenario.note, count: count) {
            try await eventLoop.submit {
                var times: [UInt64] = []
                for number in 0..<count {
                    let begin = ProcessMeter.now
                    try inserts.value.insert(segment, number: warmUp + number)
                    times.append(ProcessMeter.now - begin)
                }
                return Latencies(nanoseconds: times)
            }
            .get()
        }
    }

    private func run(
        _ scenario: Scenario,
        _ warmUp: Int,
        _ count: Int,
        _ database: BenchDatabase
    ) async throws -> BenchResult {
        let eventLoop = self.threads.clients.next()
        let store = try await database.store(on: eventLoop)
        let opening = try await store.open()
        let commits = StoreCommits(
            store: store,
            epoch: opening.epoch,
            segment: Self.segment(scenario),
            eventLoop: eventLoop
        )
        do {
            // The numbers of an owner's segments begin with its epoch.
            let first = (opening.epoch << 40) + 1
            let begin = first + UInt64(warmUp)
            _ = try await commits.run(first..<begin)
            let result = try await self.threads.measure(scenario.rawValue, scenario.note, count: count) {
                try await commits.run(begin..<begin + UInt64(count))
            }
            await store.close()
            return result
        } catch {
            await store.close()
            throw error
        }
    }

    /// Bytes that nothing can compress, as device tokens are.
    private static func segment(_ scenario: Scenario) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<scenario.length).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}
