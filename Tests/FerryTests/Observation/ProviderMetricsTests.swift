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
        /// The values of each dimension.
        var dimensions: [String: Set<String>]

        var description: String {
            let dimensions = self.dimensions.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.sorted())" }
            return "\(self.name) \(self.kind) \(dimensions)"
        }
    }

    /// The series that the table of the page names. A row is `| name | kind | dimensions | meaning |`, and
    /// a dimension is `name: values`, with a semicolon before the next one.
    private static func documented() throws -> Set<Series> {
        let page = URL(filePath: #filePath)
            .deletingLastPathComponent().appending(path: "../../../Sources/Ferry/Ferry.docc/MetricsAndSpans.md")
        let rows = TableRow.all(of: "Metrics.md", try String(contentsOf: page.standardized, encoding: .utf8))
        return Set(
            rows.compactMap { row in
                let cells = row.text.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                guard cells.count == 4, cells[0].hasPrefix("`ferry_") else { return nil }
                var dimensions: [String: Set<String>] = [:]
                for dimension in cells[2].split(separator: ";") {
                    // Every second part stands between back-ticks.
                    let names = dimension.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                        .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
                    if let name = names.first { dimensions[name] = Set(names.dropFirst()) }
                }
                return Series(name: cells[0].replacing("`", with: ""), kind: cells[1], dimensions: dimensions)
            }
        )
    }

    /// The series that the backend saw. The page does not repeat the reasons of APNs.
    private static func seen(_ metrics: TestMetrics) -> Set<Series> {
        var series: [String: Series] = [:]
        func add(_ label: String, _ kind: String, _ dimensions: [(String, String)]) {
            var found = series[label] ?? Series(name: label, kind: kind, dimensions: [:])
            for (name, value) in dimensions where name != "provider" {
                found.dimensions[name, default: []].formUnion(name == "reason" ? [] : [value])
            }
            series[label] = found
        }
        for counter in metrics.counters { add(counter.label, "counter", counter.dimensions) }
        for gauge in metrics.recorders { add(gauge.label, "gauge", gauge.dimensions) }
        for timer in metrics.timers { add(timer.label, "timer", timer.dimensions) }
        return Set(series.values)
    }

    @Test func `the page names each metric, its kind, its dimension and the dimension's values`() throws {
        let metrics = TestMetrics()
        _ = ProviderMetrics(factory: metrics, dimensions: [("provider", "a")])
        let (documented, seen) = (try Self.documented(), Self.seen(metrics))
        #expect(documented.subtracting(seen) == [])
        #expect(seen.subtracting(documented) == [])
        let taken = [("provider", "a"), ("reason", "b"), ("code", "c"), ("protocol", "d")]
        _ = ProviderMetrics(factory: metrics, dimensions: taken)
        #expect(Self.seen(metrics) == seen, "a dimension of the caller does not replace one of Ferry's")
        #expect(metrics.counters.allSatisfy { $0.dimensions.contains { $0 == ("provider", "a") } })
        #expect(metrics.recorders.allSatisfy { $0.dimensions.contains { $0 == ("provider", "a") } })
        #expect(metrics.timers.allSatisfy { $0.dimensions.contains { $0 == ("provider", "a") } })
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
        for timer in metrics.timers {
            #expect(timer.label.wholeMatch(of: /ferry_[a-z_]+_seconds/) != nil, "\(timer.label)")
            #expect(timer.values.isEmpty)
        }
    }

    @Test func `the times of outcomes and PINGs go to the timers of their own`() throws {
        let metrics = TestMetrics()
        let observer = ProviderMetrics(factory: metrics)
        var activity = ProviderActivity()
        var sample = DurationSample()
        sample.add(nanoseconds: 20_000_000)
        sample.add(nanoseconds: 30_000_000)
        activity.times = [ProviderActivity.TimedOutcome(over: .http2, .confirmed): sample]
        activity.pings.sent = 2
        activity.pings.wasAnswered(afterNanoseconds: 5_000_000)
        activity.pings.unanswered = 1
        observer.observed(activity)
        let own = [("protocol", "http2"), ("outcome", "confirmed")]
        #expect(try metrics.expectTimer("ferry_outcome_seconds", own).values == [20_000_000, 30_000_000])
        #expect(metrics.timers(label: "ferry_outcome_seconds").count == 12)
        #expect(metrics.timers(label: "ferry_outcome_seconds").flatMap(\.values).count == 2)
        #expect(try metrics.expectTimer("ferry_ping_seconds").values == [5_000_000])
        #expect(try metrics.expectCounter("ferry_pings_sent_total").totalValue == 2)
        #expect(try metrics.expectCounter("ferry_pings_answered_total").totalValue == 1)
        #expect(try metrics.expectCounter("ferry_pings_unanswered_total").totalValue == 1)
    }

    @Test func `a backend that drops everything wants no times`() {
        #expect(!ProviderMetrics(factory: NOOPMetricsHandler.instance).wantsTimes)
        #expect(ProviderMetrics(factory: TestMetrics()).wantsTimes)
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
            let timers = metrics.timers(label: "ferry_outcome_seconds")
            let protocols = timers.filter { !$0.values.isEmpty }
                .flatMap { $0.dimensions.filter { $0.0 == "protocol" }.map(\.1) }
            #expect(Set(protocols) == tested.protocols)
            let rejected = metrics.timers(label: "ferry_outcome_seconds", dimensions: [("outcome", "rejected")])
            #expect(rejected.flatMap(\.values).count == 2)
            let times = timers.flatMap(\.values)
            #expect(times.count <= 1000 && times.allSatisfy { $0 > 0 })
        }
    }
}
