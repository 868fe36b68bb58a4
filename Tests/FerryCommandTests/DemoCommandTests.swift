import Foundation
import Testing

@testable import FerryDemo

@Suite(.timeLimit(.minutes(10))) struct DemoCommandTests {
    @Test func `the demo's counts are right`() async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(["demo"], in: directory)
            #expect(output.status == 0)
            #expect(output.messages == "")
            #expect(output.result.contains("BadDeviceToken"))
            #expect(output.result.contains("go out again"))
            #expect(output.result.contains("the feedback list was read to its end: 3 devices\n"))
            #expect(output.result.contains("the feedback list was read to its end: nothing\n"))
            #expect(output.result.contains(#/devices that lost the app, and those on the list +3 +3  ✓/#))
            #expect(output.result.contains(#/tuples on the list +3 +3  ✓/#))
            #expect(output.result.contains(#/tuples on the list after it was read +0 +0  ✓/#))
            #expect(output.result.contains("HTTP/2 agreed on; one request at a time"))
            #expect(output.result.contains("at most 1000 requests at a time"))
            #expect(output.result.contains("closes the connection: NO_ERROR, Shutdown"))
            #expect(output.result.contains("that APNs had not processed go out again"))
            #expect(output.result.contains("Unregistered, status 410, with the time"))
            #expect(output.result.contains(#/HTTP\/2: good tokens, and those that got theirs +19992 +19992  ✓/#))
            #expect(output.result.contains(#/HTTP\/2: GOAWAYs, and connections beyond the first +1 +1  ✓/#))
            #expect(output.result.contains(#/gateway: good tokens, and those that got theirs +1994 +1994  ✓/#))
            #expect(output.result.contains(#/gateway: tokens that got it twice +0 +0  ✓/#))
            #expect(output.result.contains("✓"))
            #expect(!output.result.contains("✗"))
            let shown = Self.rows(output.result)
            #expect(try Self.rows(Self.page("README.md")).isSubset(of: shown))
            #expect(try Self.rows(Self.page("Docs/project/testing.md")) == shown)
        }
    }

    /// The rows of the demo's table in a text, without the width of its columns.
    private static func rows(_ text: String) -> Set<String> {
        let rows = text.components(separatedBy: "\n").filter { $0.hasSuffix("✓") }
        return Set(rows.map { $0.split(separator: " ").joined(separator: " ") })
    }

    private static func page(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `a report is right only if every row is`() {
        var report = DemoReport(rows: [.init(what: "apples", expected: 1, actual: 1)])
        #expect(report.isRight)
        report.rows.append(.init(what: "pears", expected: 2, actual: 30))
        #expect(!report.isRight)
        #expect(
            report.table == """
                        expected  counted
                apples         1        1  ✓
                pears          2       30  ✗
                """
        )
    }
}
