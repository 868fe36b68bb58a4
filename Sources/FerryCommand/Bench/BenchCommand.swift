internal import ArgumentParser

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
            """
    )

    enum Target: String, ExpressibleByArgument, CaseIterable {
        case binary, http2, gateway

        /// The number of notifications of the longest run: some seconds of work.
        var count: Int {
            #if DEBUG
            20_000
            #else
            switch self {
            case .binary: 10_000_000
            case .http2: 2_000_000
            case .gateway: 1_000_000
            }
            #endif
        }
    }

    @Argument(help: "What to measure.")
    var target: Target

    @Flag(help: "Print one JSON object.")
    var json = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How many notifications the longest run sends; others send a fixed share of it. (default: for binary \
            \(Target.binary.count), for http2 \(Target.http2.count), for gateway \(Target.gateway.count))
            """
        )
    )
    var count: Int?

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

    @Option(help: ArgumentHelp("Of the gateway: keep a store in this new file, which is removed.", valueName: "file"))
    var store: String?

    func validate() throws {
        if let count, !(1000...1_000_000_000 ~= count) { throw ValidationError("--count takes 1000 to 1000000000.") }
        if self.bare, self.target != .http2 || !self.only.isEmpty {
            throw ValidationError("--bare is a run of http2 alone.")
        }
        if self.metrics, self.target == .gateway || self.bare {
            throw ValidationError("--metrics is an option of binary and http2, and not of --bare.")
        }
        if self.migrate, self.target == .gateway || self.bare {
            throw ValidationError("--migrate is an option of binary and http2, and not of --bare.")
        }
        try self.validateSize()
        if self.target != .gateway, self.upstreamDelay != nil || self.store != nil {
            throw ValidationError("--upstream-delay-ms and --store are options of gateway.")
        }
        if let upstreamDelay, !(0...10_000 ~= upstreamDelay) {
            throw ValidationError("--upstream-delay-ms takes 0 to 10000.")
        }
        let names = self.names
        for name in self.only where !names.contains(name) {
            throw ValidationError("There is no run \(name); there are \(names.joined(separator: ", ")).")
        }
    }

    private func validateSize() throws {
        if self.target == .gateway || self.bare, self.connections != nil || self.loops != nil {
            throw ValidationError("--connections and --loops are options of binary and http2, and not of --bare.")
        }
        try ConnectionOptionGroup.loopCounts.require(self.connections, "--connections")
        try ConnectionOptionGroup.loopCounts.require(self.loops, "--loops")
        guard self.size.loops <= self.size.connections else {
            throw ValidationError(
                "--loops \(self.size.loops) needs as many connections: give --connections \(self.size.loops)."
            )
        }
    }

    private var size: BenchSize { BenchSize(connections: self.connections ?? 1, loops: self.loops ?? 1) }

    private var names: [String] {
        switch self.target {
        case .binary: BinaryBench.names
        case .http2: HTTP2Bench.names
        case .gateway: GatewayBench.names
        }
    }

    // Both ends of each connection are in this process, and each end has its own threads.
    var socketCount: Int { 24 + 2 * self.size.connections }

    private func gatewayOptions() -> GatewayBench.Options {
        var options = GatewayBench.Options()
        if let upstreamDelay { options.upstreamDelay = .milliseconds(upstreamDelay) }
        options.store = self.store
        return options
    }

    func run() async throws {
        #if DEBUG
        Console.error("ferry: this is a debug build, whose figures mean nothing; build with -c release")
        #endif
        let names = self.bare ? [HTTP2Bench.Scenario.bare.rawValue] : self.only.isEmpty ? self.names : self.only
        let count = self.count ?? self.target.count
        let benchmark: any Benchmark =
            switch self.target {
            case .binary:
                try BinaryBench(count: count, size: self.size, hasMetrics: self.metrics, migrates: self.migrate)
            case .http2: try HTTP2Bench(count: count, size: self.size, hasMetrics: self.metrics, migrates: self.migrate)
            case .gateway: try GatewayBench(count: count, self.gatewayOptions())
            }
        var results: [BenchResult] = []
        do {
            for name in names {
                if Console.isTerminal { Console.status("\(name) …") }
                results.append(try await benchmark.run(named: name))
            }
        } catch {
            await benchmark.threads.stop()
            throw CommandFailure(.notAllAccepted, "The benchmark failed: \(Sentence.of(error))")
        }
        if Console.isTerminal { Console.status("") }
        await benchmark.threads.stop()
        try Console.print(self.json ? BenchResult.json(results) : BenchResult.table(results))
    }
}
