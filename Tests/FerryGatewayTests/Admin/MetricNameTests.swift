import FerryAdmin
import FerryCore
import FerryOpenSSL
import Foundation
import NIOCore
import Testing

@testable import FerryGateway

/// Checks that the pages, the rules for Prometheus and the dashboard name the metrics that exist.
@Suite struct MetricNameTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Each metric of the gateway with its kind: `counter`, `gauge` or `histogram`.
    private static func metrics() -> [String: String] {
        var answers = AnswerFigures()
        answers.add(
            .rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400)),
            after: .milliseconds(1),
            now: .now()
        )
        let client = GatewayFigures.Client(
            name: "shop",
            isConfigured: true,
            upstream: 0,
            counts: FateCounts(),
            connections: 1,
            episodes: 0,
            feedbackRows: 0,
            mode: .verdict
        )
        let figures = GatewayFigures(
            counts: FateCounts(),
            clients: [client],
            upstreams: [
                .init(answers: answers, recent: TimeHistogram(), held: 0, shutTopics: [], hasOutage: false)
            ],
            underWay: 0,
            isOpen: true,
            store: .good,
            letters: LetterShelf.Figures()
        )
        let status = GatewayStatus(
            ferry: "1.0.0",
            now: 1_700_000_000,
            startedAt: 1_600_000_000,
            counts: FateCounts(),
            unanswered: 0,
            rate: .init(read: 0, accepted: 0, rejected: 0),
            history: [],
            refusals: [:],
            clients: [],
            upstreams: [
                .init(
                    name: "apns",
                    address: "api.push.apple.com:443",
                    state: .good,
                    connections: 1,
                    requests: 0,
                    accepted: 0,
                    refused: 0,
                    held: 0,
                    shutTopics: []
                )
            ],
            store: .good,
            certificates: [CertificateStatus(file: "server.pem", use: "listen.cert", endsAt: 1_800_000_000)],
            alarms: [],
            changedFiles: []
        )
        let metrics = GatewayMetrics(
            figures: figures,
            loop: LoopFigures(),
            status: status,
            upstreams: [.init(name: "apns", isUsable: true, watched: UpstreamWatch.Figures())],
            droppedLogs: 0,
            storeBytes: 0
        )
        var kinds: [String: String] = [:]
        for line in String(decoding: metrics.text.bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE "), words.count == 4 { kinds[String(words[2])] = String(words[3]) }
        }
        return kinds
    }

    /// The names of metrics in a text. The name of a recording rule has colons, and is none.
    private static func names(in text: String) -> Set<String> {
        let words = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "_" || $0 == ":") }.map(
            String.init
        )
        let beginnings = ["ferry_gateway_", "ferry_build_", "process_"]
        return Set(
            words.filter { word in
                !word.contains(":") && beginnings.contains { word.hasPrefix($0) && word.count > $0.count }
            }
        )
    }

    @Test(arguments: [
        "Compat/monitoring/recording.yml", "Compat/monitoring/alerts.yml", "Compat/monitoring/tests/alerts.yml",
        "Compat/monitoring/dashboard.json", "Docs/begin/operate.md", "Docs/commands/gateway.md",
    ])
    func `each metric that a file names exists`(path: String) throws {
        let kinds = Self.metrics()
        let series = kinds.flatMap { name, kind in
            kind == "histogram" ? ["_bucket", "_sum", "_count"].map { "\(name)\($0)" } : [name]
        }
        let unknown = try Self.names(in: Self.text(path)).subtracting(series).subtracting(kinds.keys)
        #expect(unknown.isEmpty, "\(path) names metrics that do not exist: \(unknown.sorted())")
    }

    @Test func `the gateway's page has each metric of its own, and no other`() throws {
        let page = try Self.text("Docs/commands/gateway.md")
        let start = try #require(page.range(of: "\n### Metrics\n")?.upperBound)
        let rows = page[start...].split(separator: "\n", omittingEmptySubsequences: false)
            .drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.dropFirst(2)
        // Every second part of the first cell stands between back-ticks.
        let names = rows.flatMap { row in
            row.split(separator: "|")[0].split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
        }
        let prefix = "ferry_gateway_"
        let own = Self.metrics().keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        #expect(Set(names) == Set(own))
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: ["Compat/monitoring/alerts.yml", "Compat/monitoring/tests/alerts.yml"])
    func `each cause of a refused connection that a file names exists`(path: String) throws {
        let matches = try Self.text(path).matches(of: /refused_connections_total\{[^}]*cause=~?"([^"]*)"/)
        #expect(!matches.isEmpty)
        for cause in matches.flatMap({ $0.output.1.split(separator: "|") }) {
            #expect(RefusalCause(rawValue: String(cause)) != nil, "\(path) names the cause \(cause).")
        }
    }

    @Test func `the alert for a long wait has the numbers that stand beside that of the status`() throws {
        let alerts = try Self.text("Compat/monitoring/alerts.yml")
        let start = try #require(alerts.range(of: "alert: FerryGatewayWaitsLong")?.upperBound)
        let alert = alerts[start...].prefix(upTo: alerts[start...].range(of: "- alert:")?.lowerBound ?? alerts.endIndex)
        #expect(alert.contains("ferry_gateway_oldest_seconds > \(Int(GatewayStatus.alertedWait))\n"))
        #expect(alert.contains("for: \(Int(GatewayStatus.alertPatience / 60))m\n"))
        #expect(alert.contains("after \(Int(GatewayStatus.longWait)) s (GatewayStatus.longWait)"))
        #expect(GatewayStatus.longWait < GatewayStatus.alertedWait)
    }

    @Test func `the alert for a certificate has the period of the log and of the status`() throws {
        let days = Int(CertificateWarnings.period / .seconds(86_400))
        let end = "(ferry_gateway_certificate_end_timestamp_seconds - time()) / 86400"
        #expect(try Self.text("Compat/monitoring/alerts.yml").contains("\(end) < \(days)\n"))
    }

    @Test func `the gateway's page names each cause of a refused connection`() throws {
        let row = try Self.text("Docs/commands/gateway.md").split(separator: "\n")
            .first { $0.hasPrefix("| `refused_connections_total`") }
        for cause in RefusalCause.allCases { #expect(row?.contains("`\(cause.rawValue)`") == true, "\(cause)") }
    }

    @Test func `counters end with _total, and nothing else does`() {
        for (name, kind) in Self.metrics() {
            #expect((kind == "counter") == name.hasSuffix("_total"), "\(name) is a \(kind).")
        }
    }

    @Test func `a rule or the dashboard uses each metric of the gateway`() throws {
        let files = ["recording.yml", "alerts.yml", "dashboard.json"]
        let used = try files.reduce(into: Set<String>()) { names, file in
            names.formUnion(Self.names(in: try Self.text("Compat/monitoring/\(file)")))
        }
        for (name, kind) in Self.metrics() where name.hasPrefix("ferry_") {
            let series = kind == "histogram" ? "\(name)_bucket" : name
            #expect(used.contains(series), "Neither a rule nor the dashboard uses \(name).")
        }
    }
}
