internal import ArgumentParser
internal import FerryBench
internal import FerryCore
internal import FerryTerminal

/// The command `ferry bench`.
struct BenchCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures throughput and latency on this machine.",
        discussion: """
            Client and server run in this process, over TLS on loopback. CPU time and memory are those of both together, \
            and of the gateway between them; every outcome and every frame is counted, and a run that loses one fails. Allocations are not counted: \
            allocationsEach of --json is null.

            Examples:
              ferry bench binary --json
              ferry bench http2 --run http2-batch --count 1000000
              ferry bench http2 --bare
              ferry bench http2 --connections 4 --loops 4
              ferry bench gateway --store bench.db
              ferry bench gateway --store postgres --postgres "host=/run/postgresql dbname=bench"
              ferry bench store --postgres "host=/run/postgresql dbname=bench"
              ferry bench worker --postgres "host=/run/postgresql dbname=bench" --json
            """
    )

    @Argument(help: "What to measure.")
    var target: BenchPlan.Target

    @Flag(help: "Print one JSON object.")
    var json = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How many notifications the longest run sends; others send a fixed share of it. (default: for binary \
            \(BenchPlan.Target.binary.count), for http2 \(BenchPlan.Target.http2.count), for gateway \(BenchPlan.Target.gateway.count), \
            for worker \(BenchPlan.Target.worker.count), and for store \(BenchPlan.Target.store.count) commits)
            """
        )
    )
    var count: Int?

    @OptionGroup var progress: ProgressOptions

    @Flag(help: "Of HTTP/2: only the same requests without a provider, which is what all else is measured by.")
    var bare = false

    @Flag(help: "Of binary and HTTP/2: with metrics, whose numbers stay in this process.")
    var metrics = false

    @Flag(help: "Of binary and HTTP/2: through a provider that moves devices, all of which are on this side.")
    var migrate = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Of binary and HTTP/2: how many connections there may be. (default: 1)", valueName: "n")
    )
    var connections: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Of binary and HTTP/2: how many threads the provider has, and the server as many. (default: 1)",
            valueName: "n"
        )
    )
    var loops: Int?

    @Option(
        name: .customLong("run"),
        help: ArgumentHelp("Which run, if not all; may be repeated.", valueName: "name")
    )
    var only: [String] = []

    @Option(
        name: .customLong("upstream-delay-ms"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "Of the gateway: how late APNs answers in the run gateway-delayed. (default: 50)",
            valueName: "ms"
        )
    )
    var upstreamDelay: Int?

    @Option(
        help: ArgumentHelp(
            "Of the gateway: keep a store in this new file, which is removed; or in PostgreSQL.",
            valueName: "file|\(BenchPlan.storeInPostgres)"
        )
    )
    var store: String?

    @Option(
        help: ArgumentHelp(
            """
            Of the worker, the store, and the gateway with --store postgres: a connection string of a database, in which \
            each run makes and removes Ferry's tables.
            """,
            valueName: "connection"
        )
    )
    var postgres: String?

    func validate() throws {
        let isInPostgres = self.target == .gateway && self.store == BenchPlan.storeInPostgres
        guard (self.target == .worker || self.target == .store || isInPostgres) == (self.postgres != nil) else {
            throw ValidationError("--postgres belongs to worker, store and gateway --store postgres, which need it.")
        }
        if let count, !(1000...1_000_000_000 ~= count) { throw ValidationError("--count takes 1000 to 1000000000.") }
        if self.bare, self.target != .http2 || !self.only.isEmpty {
            throw ValidationError("--bare is a run of http2 alone.")
        }
        if self.metrics, !self.hasClient || self.bare {
            throw ValidationError("--metrics is an option of binary and http2, and not of --bare.")
        }
        if self.migrate, !self.hasClient || self.bare {
            throw ValidationError("--migrate is an option of binary and http2, and not of --bare.")
        }
        try self.validateSize()
        if self.target != .gateway, self.upstreamDelay != nil || self.store != nil {
            throw ValidationError("--upstream-delay-ms and --store are options of gateway.")
        }
        if let upstreamDelay, !(0...10_000 ~= upstreamDelay) {
            throw ValidationError("--upstream-delay-ms takes 0 to 10000.")
        }
        let names = self.target.runs
        for name in self.only where !names.contains(name) {
            throw ValidationError("There is no run \(name); there are \(names.joined(separator: ", ")).")
        }
    }

    /// Whether the target measures a provider alone.
    private var hasClient: Bool { self.target == .binary || self.target == .http2 }

    private func validateSize() throws {
        if !self.hasClient || self.bare, self.connections != nil || self.loops != nil {
            throw ValidationError("--connections and --loops are options of binary and http2, and not of --bare.")
        }
        for (name, count) in [("--connections", self.connections), ("--loops", self.loops)] {
            if let count, !(1...64 ~= count) { throw ValidationError("\(name) takes 1 to 64.") }
        }
        let loops = self.provider.loops
        guard loops <= self.provider.connections else {
            throw ValidationError("--loops \(loops) needs as many connections: give --connections \(loops).")
        }
    }

    private var provider: BenchProvider {
        BenchProvider(
            connections: self.connections ?? 1,
            loops: self.loops ?? 1,
            hasMetrics: self.metrics,
            migrates: self.migrate
        )
    }

    // Both ends of each connection are in this process, and each end has its own threads.
    var socketCount: Int { 64 + 2 * self.provider.connections }

    private var plan: BenchPlan {
        var plan = BenchPlan(self.target, count: self.count)
        plan.provider = self.provider
        plan.upstreamDelay = self.upstreamDelay.map { .milliseconds($0) }
        plan.store = self.store
        plan.postgres = self.postgres
        return plan
    }

    func run() async throws {
        #if DEBUG
        Console.error("ferry: this is a debug build, whose figures mean nothing; build with -c release")
        #endif
        let runs = self.bare ? [BenchPlan.bareRun] : self.only.isEmpty ? self.target.runs : self.only
        let current = Locked<WorkProgress?>(nil)
        let shown = self.progress.display?.show { current.withLock { $0 } }
        var begun = 0
        let results: [BenchResult]
        do {
            results = try await self.plan.measure(runs) { run in
                let fraction = Double(begun) / Double(runs.count)
                // Runs differ in length, so there is neither a rate nor a time that is left.
                current.withLock { $0 = WorkProgress(fraction: fraction, words: [run]) }
                begun += 1
            }
        } catch {
            await shown?.end()
            throw error
        }
        await shown?.end()
        try Console.print(self.json ? BenchResult.json(results) : BenchResult.table(results))
    }
}

extension BenchPlan.Target: ExpressibleByArgument {}
