import Foundation
import Testing

@testable import FerryBench

@Suite(.timeLimit(.minutes(10))) struct BenchCommandTests {
    @Test func `every run is measured, and its books balance`() async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(["bench", "binary", "--json", "--count", "20000"], in: directory)
            #expect(output.status == 0)
            let runs = try #require(output.summary["runs"] as? [[String: Any]])
            #expect(
                runs.map { $0["name"] as? String }
                    == ["paced-10000", "batch-evict", "batch-hold", "values", "send-1000-tasks"]
            )
            for run in runs {
                #expect(
                    Set(run.keys) == [
                        "name", "perSecond", "cpuMicrosecondsEach", "p50Ms", "p99Ms", "peakMiB", "allocationsEach",
                        "count", "clientMicrosecondsEach",
                    ]
                )
                #expect(run["count"] as? Int ?? 0 >= 1000)
                #expect(run["clientMicrosecondsEach"] as? Double ?? 0 > 0)
                #expect(run["perSecond"] as? Double ?? 0 > 0)
                #expect(run["p99Ms"] as? Double ?? 0 > 0)
            }
        }
    }

    @Test(arguments: [false, true])
    func `through the gateway everything arrives once, with a store and without`(hasStore: Bool) async throws {
        try await TemporaryDirectory.with { directory in
            let options = hasStore ? ["--store", directory.path("bench.db")] : []
            let output = try await FerryProgram.run(
                ["bench", "gateway", "--json", "--count", "20000", "--upstream-delay-ms", "5"] + options,
                in: directory
            )
            #expect(output.status == 0, "\(output.messages)")
            let runs = try #require(output.summary["runs"] as? [[String: Any]])
            #expect(
                runs.map { $0["name"] as? String } == [
                    "direct-paced-10000", "gateway-paced-10000", "direct-batch", "gateway-batch", "gateway-delayed",
                ]
            )
            #expect(runs.map { $0["count"] as? Int } == [1000, 1000, 20_000, 20_000, 2000])
            for run in runs { #expect(run["p99Ms"] as? Double ?? 0 > 0) }
            let files = try FileManager.default.contentsOfDirectory(atPath: directory.path("."))
            #expect(!files.contains { $0.hasPrefix("bench.db") })
        }
    }

    @Test(arguments: ["bench.db", "bench.db-mark", "folder"])
    func `what stands in the place of a store stays there`(name: String) async throws {
        try await TemporaryDirectory.with { directory in
            let kept = try directory.write("bench.db-mark", "mine")
            if name == "bench.db" { _ = try directory.write("bench.db", "mine") }
            let folder = directory.path("folder")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let store = name == "folder" ? folder : directory.path("bench.db")
            let output = try await FerryProgram.run(["bench", "gateway", "--store", store], in: directory)
            #expect(output.status == 2)
            #expect(output.messages.contains("The file of --store exists already"), "\(output.messages)")
            #expect(FileManager.default.fileExists(atPath: kept))
            #expect(FileManager.default.fileExists(atPath: store) == (name != "bench.db-mark"))
        }
    }

    @Test(arguments: ["-1", "0", "999", "1000000001"])
    func `a count out of range is status 2 and says the range`(count: String) async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(["bench", "binary", "--count", count], in: directory)
            #expect(output.status == 2)
            #expect(output.messages.contains("--count takes 1000 to 1000000000."), "\(output.messages)")
        }
    }

    @Test(arguments: [
        ["apns"], ["http2", "--run", "batch-hold"], ["binary", "--bare"],
        ["http2", "--bare", "--run", "http2-batch"], ["gateway", "--bare"], ["http2", "--store", "x.db"],
        ["binary", "--upstream-delay-ms", "1"], ["gateway", "--upstream-delay-ms", "-1"],
        ["store"], ["worker"], ["gateway", "--store", "postgres"], ["gateway", "--postgres", "host=/tmp"],
    ])
    func `what there is no run of is bad usage`(arguments: [String]) async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(["bench"] + arguments, in: directory)
            #expect(output.status == 2)
            #expect(output.result == "")
        }
    }

    @Test func `shares of latencies are those of the sorted times`() {
        let latencies = Latencies(nanoseconds: (1...100).reversed().map { $0 * 1_000_000 })
        #expect(latencies.milliseconds(0.5) == 50)
        #expect(latencies.milliseconds(0.99) == 99)
        #expect(latencies.milliseconds(1) == 100)
        #expect(Latencies(nanoseconds: []).milliseconds(0.5) == nil)
    }
}
