internal import FerryTerminal

/// The measurements of one call of `ferry bench`.
package struct BenchPlan: Sendable {
    package enum Target: String, CaseIterable, Sendable {
        case binary, http2, gateway, store, worker

        /// The names of the runs, in the order in which they are made.
        package var runs: [String] {
            switch self {
            case .binary: BinaryBench.names
            case .http2: HTTP2Bench.names
            case .gateway: GatewayBench.names
            case .store: StoreBench.names
            case .worker: WorkerBench.names
            }
        }

        /// The default of ``BenchPlan/count``: as many notifications, or commits, as take some seconds.
        package var count: Int {
            #if DEBUG
            self == .store ? 1000 : 20_000
            #else
            switch self {
            case .binary: 10_000_000
            case .http2: 2_000_000
            case .gateway: 1_000_000
            case .store: 4000
            case .worker: 300_000
            }
            #endif
        }
    }

    /// The run of HTTP/2 that has no provider.
    package static let bareRun = HTTP2Bench.Scenario.bare.rawValue

    package var target: Target
    /// The number of notifications of the longest run, or of commits.
    package var count: Int
    /// The provider that the runs of binary and HTTP/2 measure.
    package var provider = BenchProvider()
    /// The delay of APNs' answers in the gateway's run `gateway-delayed`; nil: 50 ms.
    package var upstreamDelay: Duration?
    /// The file of the gateway's store, or ``storeInPostgres``; nil: no store. Each run removes the file at its end.
    package var store: String?
    /// The connection string of a database without Ferry's tables.
    package var postgres: String?

    /// The value of ``store`` for a store of the gateway in the database ``postgres``.
    package static let storeInPostgres = "postgres"

    package init(_ target: Target, count: Int? = nil) {
        self.target = target
        self.count = count ?? target.count
    }

    /// Makes the runs with these names, one after the other.
    ///
    /// - Parameter announce: receives the name of each run before it starts.
    /// - Throws: ``CommandFailure`` when an option does not fit, a run fails, or the counts of a run do not balance.
    package func measure(_ runs: [String], announce: (String) -> Void) async throws -> [BenchResult] {
        let benchmark = try self.benchmark()
        var results: [BenchResult] = []
        do {
            for run in runs {
                announce(run)
                results.append(try await benchmark.run(named: run))
            }
        } catch {
            await benchmark.threads.stop()
            throw CommandFailure(.notAllAccepted, "The benchmark failed: \(Sentence.of(error))")
        }
        await benchmark.threads.stop()
        return results
    }

    private func benchmark() throws -> any Benchmark {
        switch self.target {
        case .binary:
            return try BinaryBench(count: self.count, self.provider)
        case .http2:
            return try HTTP2Bench(count: self.count, self.provider)
        case .gateway:
            var options = GatewayBench.Options()
            if let upstreamDelay { options.upstreamDelay = upstreamDelay }
            switch self.store {
            case nil: break
            case Self.storeInPostgres: options.store = .postgres(try self.database())
            case let file?: options.store = .file(file)
            }
            return try GatewayBench(count: self.count, options)
        case .store:
            return StoreBench(count: self.count, postgres: try self.database())
        case .worker:
            return try WorkerBench(count: self.count, postgres: try self.database())
        }
    }

    private func database() throws -> String {
        guard let postgres else { throw CommandFailure.usage("--postgres is missing: name a database.") }
        return postgres
    }
}
