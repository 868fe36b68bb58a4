import Foundation
import Testing

/// Tests that the alerts for Prometheus, the operator's guide and the events of the gateway's log know each other.
@Suite struct AlertTests {
    private static let guide = "Docs/begin/operate.md"
    private static let rules = "Compat/monitoring/alerts.yml"

    /// The names of the alerts, in the order of the file.
    private static func alerts() throws -> [String] {
        try Tree.text(self.rules).parts(from: "- alert: ", to: "\n")
    }

    @Test func `each alert has a section of the guide, a cure and a link to the section`() throws {
        let text = try Tree.text(Self.rules)
        let guide = try Tree.text(Self.guide)
        let alerts = try Self.alerts()
        #expect(alerts.count > 20 && Set(alerts).count == alerts.count)
        for alert in alerts {
            let rule = try #require(text.parts(from: "- alert: \(alert)\n", to: "- alert: ").first)
            #expect(rule.contains(" cure: "), "\(alert) has no cure.")
            #expect(
                rule.contains("/begin/operate.md#\(alert.lowercased())\n"),
                "\(alert) does not link to its section."
            )
            #expect(guide.section("### \(alert)") != nil, "\(Self.guide) has no section \(alert).")
        }
    }

    @Test func `each section of an alert in the guide has its alert`() throws {
        let sections = try Tree.lines(Self.guide).filter { $0.hasPrefix("### Ferry") }.map {
            String($0.dropFirst(4))
        }
        #expect(try Set(sections) == Set(Self.alerts()))
    }

    /// The level of an alarm is `error`. The event `failed` is the end of the process.
    @Test func `each alarm of the gateway's log has an alert`() throws {
        let events = try #require(try Tree.text("Docs/commands/gateway.md").section("### Events"))
        let alarms = events.components(separatedBy: "\n").filter { $0.contains("| `error`") }
            .compactMap { $0.parts(from: "| `", to: "`").first }
        #expect(alarms.count > 5)
        let rows = try #require(try Tree.text(Self.guide).section("## What each alarm means, and its cure"))
            .components(separatedBy: "\n")
        let alerts = try Self.alerts()
        for alarm in alarms {
            let row = rows.first { $0.hasPrefix("| `\(alarm)` |") }
            let named = alerts.filter { row?.contains("[\($0)](#\($0.lowercased()))") == true }
            #expect(!named.isEmpty, "The guide has no row with an alert for the alarm \(alarm).")
        }
    }

    @Test func `each alert has a situation in which it fires`() throws {
        let situations = try Tree.text("Compat/monitoring/tests/alerts.yml")
        for alert in try Self.alerts() {
            #expect(situations.contains("alertname=\"\(alert)\""), "No test fires \(alert).")
        }
    }
}
