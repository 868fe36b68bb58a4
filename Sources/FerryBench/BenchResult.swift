internal import FerryTerminal

/// The measurements of one run.
package struct BenchResult: Equatable, Sendable {
    var name: String
    /// A few words about the run and its latency.
    var note: String
    var count = 0
    var perSecond = 0.0
    /// The CPU time of the whole process for each notification: producer, client and server together.
    var cpuMicrosecondsEach: Double?
    /// The CPU time of the client's event loop for each notification.
    var clientMicrosecondsEach: Double?
    var p50Ms: Double?
    var p99Ms: Double?
    /// The peak of resident memory during the run.
    var peakMiB: Double?

    /// One JSON object. A value that was not measured is null. Allocations are always null: counting them needs a hook
    /// in the allocator.
    var json: String {
        func text(_ value: Double?) -> String { value.map { "\(Self.rounded($0))" } ?? "null" }
        return #"{"name":"\#(self.name)","perSecond":\#(Self.rounded(self.perSecond)),"#
            + #""cpuMicrosecondsEach":\#(text(self.cpuMicrosecondsEach)),"p50Ms":\#(text(self.p50Ms)),"#
            + #""p99Ms":\#(text(self.p99Ms)),"peakMiB":\#(text(self.peakMiB)),"allocationsEach":null,"#
            + #""count":\#(self.count),"clientMicrosecondsEach":\#(text(self.clientMicrosecondsEach))}"#
    }

    /// The object of `--json`.
    package static func json(_ results: [BenchResult]) -> String {
        #"{"runs":[\#(results.map(\.json).joined(separator: ","))]}"#
    }

    /// A table for people.
    package static func table(_ results: [BenchResult]) -> String {
        func text(_ value: Double?) -> String { value.map { "\(self.rounded($0))" } ?? "-" }
        let header = ["run", "count", "per second", "µs CPU", "µs client", "p50 ms", "p99 ms", "peak MiB", "what"]
        let rows = results.map { result in
            [
                result.name, "\(result.count)", "\(Int(result.perSecond))", text(result.cpuMicrosecondsEach),
                text(result.clientMicrosecondsEach), text(result.p50Ms), text(result.p99Ms), text(result.peakMiB),
                result.note,
            ]
        }
        return TextTable(
            rows: [header] + rows,
            alignment: [.left, .right, .right, .right, .right, .right, .right, .right, .left]
        )
        .description
    }

    private static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
}
