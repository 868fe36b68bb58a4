import FerryCore
import FerryHTTP2
import Foundation
import Testing

/// Checks that the reasons in `Docs/how-it-works/outcomes.md` and in the code agree.
@Suite struct ReasonsPageTests {
    private let rows: [[String]]

    init() throws {
        let page = URL(filePath: #filePath)
            .deletingLastPathComponent().appending(path: "../../../Docs/how-it-works/outcomes.md")
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        self.rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test(arguments: ReasonRule.all)
    func `Every reason has one row with its status, its rule and what to do`(rule: ReasonRule) throws {
        let rows = self.rows.filter { $0.first == "`\(rule.reason)`" }
        #expect(rows.count == 1)
        let row = try #require(rows.first)
        try #require(row.count == 5)
        #expect(row[1] == "\(rule.status)")
        #expect(row[3].hasPrefix(Self.words[rule.retry] ?? "?"))
        #expect(row[3].contains("*counts*") == (rule.countsAgainstConnection && rule.status != .forbidden))
        #expect(!row[2].isEmpty && !row[4].isEmpty)
    }

    @Test(arguments: RetryRule.allCases)
    func `Every rule is explained`(rule: RetryRule) {
        #expect(self.rows.contains { $0.count == 2 && $0[0] == Self.words[rule] })
    }

    @Test(arguments: ["GOAWAY", "`REFUSED_STREAM`", "not written", "connection lost", "no answer", "deadline"])
    func `What happens to connections has a row`(name: String) {
        #expect(self.rows.filter { $0.first == name && $0.last?.isEmpty == false }.count == 1)
    }

    private static let words: [RetryRule: String] = [
        .never: "never", .afterRepair: "after repair", .later: "later", .forDevice: "device",
        .withNewToken: "new token", .whenThawed: "thaw", .onNewConnection: "new connection", .elsewhere: "elsewhere",
    ]
}
