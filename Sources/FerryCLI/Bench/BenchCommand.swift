internal import ArgumentParser

/// `ferry bench`
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures throughput and latency on this machine.",
        discussion: """
            Client and server run in this process, over TLS on loopback. CPU time and memory are those of both together; \
            every outcome and every frame is counted, and a run that loses one fails. Allocations are not counted: \
            allocationsEach of --json is null.

            Example:
              ferry bench binary --json
            """
    )

    enum Target: String, ExpressibleByArgument, CaseIterable {
        case binary
    }

    #if DEBUG
    private static let defaultCount = 100_000
    #else
    private static let defaultCount = 10_000_000
    #endif

    @Argument(help: "What to measure.")
    var target: Target

    @Flag(help: "Print one JSON object.")
    var json = false

    @Option(
        parsing: .unconditional,
        help: "How many notifications the longest run sends; others send a fixed share of it."
    )
    var count = Self.defaultCount

    @Option(
        name: .customLong("run"),
        help: ArgumentHelp("Which run, if not all; may be repeated.", valueName: "name")
    )
    var only: [BinaryBench.Scenario] = []

    func validate() throws {
        guard 1000...1_000_000_000 ~= self.count else { throw ValidationError("--count takes 1000 to 1000000000.") }
    }

    func run() async throws {
        #if DEBUG
        Console.error("ferry: this is a debug build, whose figures mean nothing; build with -c release")
        #endif
        let bench = try BinaryBench(count: self.count)
        var results: [BenchResult] = []
        do {
            for scenario in self.only.isEmpty ? BinaryBench.Scenario.allCases : self.only {
                if Console.isTerminal { Console.status("\(scenario.rawValue) …") }
                results.append(try await bench.run(scenario))
            }
        } catch {
            await bench.stop()
            throw CommandFailure(.notAllAccepted, "The benchmark failed: \(Sentence.of(error))")
        }
        if Console.isTerminal { Console.status("") }
        await bench.stop()
        try Console.print(self.json ? BenchResult.json(results) : BenchResult.table(results))
    }
}

extension BinaryBench.Scenario: ExpressibleByArgument {}
