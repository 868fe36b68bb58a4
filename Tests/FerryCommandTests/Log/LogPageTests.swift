import FerryTerminal
import Foundation
import Testing

@testable import FerryCommand

/// Checks that the pages have each event and each member of the servers' logs, and no others.
@Suite struct LogPageTests {
    /// The first words of the rows of a table, without their marks of code. Several names may stand in one row.
    private static func names(_ page: String, below heading: String) throws -> Set<String> {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Docs/commands/\(page)")
        let text = try String(contentsOf: url.standardized, encoding: .utf8)
        let start = try #require(text.range(of: heading)?.upperBound)
        let rows = text[start...].split(separator: "\n", omittingEmptySubsequences: false)
            .drop { !$0.hasPrefix("|") }
            .prefix { $0.hasPrefix("|") }
        return Set(
            rows.dropFirst(2).flatMap { row in
                row.split(separator: "|").first.map { $0.split { !$0.isLetter }.map(String.init) } ?? []
            }
        )
    }

    @Test func `the gateway's page has each event of its log`() throws {
        let events = GatewayLogEvent.allCases.map(\.rawValue) + ServerLogEvent.allCases.map(\.rawValue)
        #expect(try Self.names("gateway.md", below: "### Events") == Set(events))
        #expect(Set(events).count == events.count)
    }

    @Test func `the receiver's page has each event of its own`() throws {
        let events = AppStoreLogEvent.allCases.map(\.rawValue)
        #expect(try Self.names("appstore.md", below: "## Messages") == Set(events))
        #expect(Set(events).isDisjoint(with: ServerLogEvent.allCases.map(\.rawValue)))
    }

    @Test func `the gateway's page has each member`() throws {
        let names = LogMessage.Member.allCases.map(\.rawValue) + ["time", "level", "event", "message"]
        #expect(try Self.names("gateway.md", below: "### Members") == Set(names))
    }
}
