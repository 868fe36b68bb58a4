import Ferry
import FerryHTTP2
import Foundation
import NIOCore
import Testing

/// Checks that `Docs/begin/live-activities.md` and the code agree.
@Suite struct ChannelsPageTests {
    private let page: String

    init() throws {
        let url = URL(filePath: #filePath)
            .deletingLastPathComponent().appending(path: "../../../Docs/begin/live-activities.md")
        self.page = try String(contentsOf: url.standardized, encoding: .utf8)
    }

    private func rows(_ first: String) -> [[String]] {
        self.page.split(separator: "\n").filter { $0.hasPrefix("| \(first) |") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test func `the hosts and ports are those of the code`() {
        let hosts = [
            [
                "production", "`\(ChannelManagerConfiguration.productionHost)`",
                "\(ChannelManagerConfiguration.productionPort)",
            ],
            [
                "development", "`\(ChannelManagerConfiguration.sandboxHost)`",
                "\(ChannelManagerConfiguration.sandboxPort)",
            ],
        ]
        for host in hosts { #expect(self.rows(host[0]) == [host]) }
    }

    @Test func `every reason stands in the row of its status, in the order of Apple's table`() throws {
        for (status, rules) in Dictionary(grouping: ChannelReasonRule.all, by: \.status) {
            let row = try #require(self.rows("\(status)").first)
            let words = row[1].components(separatedBy: "`").enumerated().filter { !$0.offset.isMultiple(of: 2) }
            #expect(words.map(\.element) == rules.map(\.reason.rawValue))
        }
    }

    @Test func `the bounds are those of the code`() {
        let configuration = ChannelManagerConfiguration(
            production: true,
            bundleID: "a",
            credentials: .token(ProviderTokenSource { "a.b.c" })
        )
        #expect(configuration.deadline == .seconds(30))
        #expect(self.page.contains("| time of a call, with connecting and waiting | 30 s | `deadline` |"))
        #expect(configuration.connectTimeout == .seconds(10))
        #expect(self.page.contains("| time of connecting | 10 s | `connectTimeout` |"))
        #expect(configuration.callLimit == 64)
        #expect(self.page.contains("| 64; one more fails with `tooManyCalls` | `callLimit` |"))
        #expect(configuration.listLimit == 4_194_304)
        #expect(
            self.page.contains(
                "| 4,194,304 bytes; a longer one fails with `answerTooLong` | `listLimit`, at least 8,192 |"
            )
        )
        #expect(ChannelClient.idleLimit == .seconds(30))
        #expect(self.page.contains("closes the connection 30 s after the last answer"))
        #expect(ChannelID.maximumLength == 255)
        #expect(self.page.contains("1 to 255 characters"))
    }
}
