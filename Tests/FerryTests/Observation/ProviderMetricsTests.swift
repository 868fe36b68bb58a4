import CoreMetrics
import Ferry
import Foundation
import MetricsTestKit
import Testing

@testable import FerryCore

@Suite(.timeLimit(.minutes(10)))
struct ProviderMetricsTests {
    /// A series as the page names it.
    private struct Series: Hashable, CustomStringConvertible {
        var name: String
        var kind: String
        var dimension: String
        var values: Set<String>

        var description: String { "\(self.name) \(self.kind) \(self.dimension) \(self.values.sorted())" }
    }

    /// The series that the table of the page names. A row is `| name | kind | dimension: values | meaning |`.
    private static func documented() throws -> Set<Series> {
        let page = URL(filePath: #filePath)
            .deletingLastPathComponent().appending(path: "../../../Sources/Ferry/Ferry.docc/MetricsAndSpans.md")
        let rows = TableRow.all(of: "Metrics.md", try String(contentsOf: page.standardized, encoding: .utf8))
        return Set(
            rows.compactMap { row in
                let cells = row.text.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                guard cells.count == 4, cells[0].hasPrefix("`ferry_") else { return nil }
                let words = cells[2].split(separator: "`").enumerated().filter { !$0.offset.isMultiple(of: 2) }
                var names = words.map { String($0.element) }
                if cells[2].hasPrefix("`") {
                    names = cells[2].split(separator: "`").enumerated().filter { $0.offset.isMultiple(of: 2) }
                        .map { String($0.element) }
                }
                return Series(
                    name: cells[0].replacing("`", with: ""),
                    kind: cells[1],
                    dimension: names.first ?? "",
                    values: Set(names.dropFirst())
                )
            }
        )
    }

    /// The series that the backend saw. The page does not repeat the reasons of APNs.
    private static func seen(_ metrics: TestMetrics) -> Set<Series> {
        var series: [String: Series] = [:]
        for (label, kind, dimensions) in metrics.counters.map({ ($0.label, "counter", $0.dimensions) })
            + metrics.recorders.map({ ($0.label, "gauge", $0.dimensions) })
        {
            let own = dimensions.filter { $0.0 != "provider" }
            var found = series[label] ?? Series(name: label, kind: kind, dimension: own.first?.0 ?? "", values: [])
            if let value = own.first?.1, found.dimension != "reason" { found.values.insert(value) }
            series[label] = found
        }
        return Set(series.values)
    }

    @Test func `the page names each metric, its kind, its dimension and the dimension's values`() throws {
        let metrics = TestMetrics()
        _ = ProviderMetrics(factory: metrics, dimensions: [("provider", "a")])
        let (documented, seen) = (try Self.documented(), Self.seen(metrics))
        #expect(documented.subtracting(seen) == [])
        #expect(seen.subtracting(documented) == [])
        _ = ProviderMetrics(factory: metrics, dimensions: [("provider", "a"), ("reason", "b"), ("code", "c")])
        #expect(Self.seen(metrics) == seen, "a dimension of the caller does not replace one of Ferry's")
        #expect(metrics.counters.allSatisfy { $0.dimensions.contains { $0 == ("provider", "a") } })
        #expect(metrics.recorders.allSatisfy { $0.dimensions.contains { $0 == ("provider", "a") } })
    }

    @Test func `names and values are valid in Prometheus, and each series begins with 0`() throws {
        let metrics = TestMetrics()
        _ = ProviderMetrics(factory: metrics)
        for counter in metrics.counters {
            #expect(counter.label.wholeMatch(of: /ferry_[a-z_]+_total/) != nil, "\(counter.label)")
            #expect(counter.dimensions.allSatisfy { $0.0.wholeMatch(of: /[a-z]+/) != nil })
            #expect(counter.totalValue == 0)
        }
        for gauge in metrics.recorders {
            #expect(gauge.label.wholeMatch(of: /ferry_[a-z_]+/) != nil, "\(gauge.label)")
            #expect(gauge.lastValue == 0)
        }
    }

    @Test func `every reason that Ferry knows has its series, and all others share one`() throws {
        let metrics = TestMetrics()
        let observer = ProviderMetrics(factory: metrics)
        var activity = ProviderActivity()
        activity.causes.rejected = [.badDeviceToken: 3, Reason(rawValue: "New"): 1, Reason(rawValue: "Newer"): 2]
        observer.observed(activity)
        #expect(metrics.counters(label: "ferry_rejections_total").count == Reason.known.count + 1)
        let bad = try metrics.expectCounter("ferry_rejections_total", [("reason", "BadDeviceToken")])
        #expect(bad.totalValue == 3)
        #expect(try metrics.expectCounter("ferry_rejections_total", [("reason", "other")]).totalValue == 3)
    }

    @Test(arguments: TestedProtocol.allCases)
    func `the counters of a run equal its report, without a device token`(tested: TestedProtocol) async throws {
        let metrics = TestMetrics()
        let observer = ProviderMetrics(factory: metrics)
        try await tested.run(TestedProtocol.Trouble(bad: [3, 700]), observer: observer) { run in
            try await Harness.submit(0..<1000, to: run.provider)
            let report = await run.provider.shutDown(within: Harness.forever, proof: .silence)
            func count(_ label: String, _ dimensions: [(String, String)] = []) throws -> Int {
                Int(try metrics.expectCounter(label, dimensions).totalValue)
            }
            #expect(try count("ferry_notifications_total") == 1000)
            #expect(try count("ferry_outcomes_total", [("outcome", "confirmed")]) == report.outcomes.confirmed)
            #expect(try count("ferry_outcomes_total", [("outcome", "presumed")]) == report.outcomes.presumed)
            #expect(try count("ferry_outcomes_total", [("outcome", "rejected")]) == 2)
            #expect(try count("ferry_copies_total") == report.resent)
            #expect(try metrics.expectGauge("ferry_open_connections").lastValue == 0)
            let tokens = try [3, 700].map { try Harness.device($0).hex }
            let shown = metrics.counters.map { "\($0.label) \($0.dimensions)" }
            #expect(shown.allSatisfy { series in tokens.allSatisfy { !series.contains($0) } })
        }
    }
}
