import FerryAdmin
import FerryShards
import Foundation
import Testing

@testable import FerryCommand
@testable import FerryGateway

/// Checks that the page and the alerts name the metrics of shards that exist.
@Suite struct ShardMetricNameTests {
    private static let beginning = "ferry_shard_"

    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private static func metrics() -> Set<String> {
        var figures = ShardFigures()
        figures.owned = [ShardFigures.Owned(0)]
        var text = MetricsText()
        figures.add(to: &text)
        let types = String(decoding: text.bytes, as: UTF8.self).split(separator: "\n").filter {
            $0.hasPrefix("# TYPE ")
        }
        return Set(types.map { String($0.split(separator: " ")[2]) }.filter { $0.hasPrefix(Self.beginning) })
    }

    @Test(arguments: ["Compat/monitoring/alerts.yml", "Compat/monitoring/tests/alerts.yml"])
    func `each metric of shards that a rule names exists`(path: String) throws {
        let words = try Self.text(path).split { !($0.isASCII && $0.isLetter || $0 == "_") }.map(String.init)
        let named = Set(words.filter { $0.hasPrefix(Self.beginning) })
        #expect(!named.isEmpty)
        #expect(named.isSubset(of: Self.metrics()))
    }

    @Test func `the page has each metric of shards`() throws {
        let page = try Self.text("Docs/commands/gateway.md")
        let start = try #require(page.range(of: "after `ferry_shard_`")?.upperBound)
        let rows = page[start...].split(separator: "\n").prefix {
            $0.hasPrefix("|") || !$0.contains("ferry_build_info")
        }
        for metric in Self.metrics() {
            let name = "`\(metric.dropFirst(Self.beginning.count))`"
            #expect(rows.contains { $0.contains(name) }, "The page has no \(name).")
        }
    }
}
