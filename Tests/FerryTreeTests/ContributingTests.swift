import Foundation
import Testing

/// Tests that the places which `CONTRIBUTING.md` names exist.
@Suite struct ContributingTests {
    private let page: String

    init() throws { self.page = try Tree.text("CONTRIBUTING.md") }

    @Test func `each path exists`() {
        let folders = ["Sources/", "Tests/", "Docs/", "Compat/", "Examples/", ".ci/"]
        for text in Self.quoted(self.page) where folders.contains(where: text.hasPrefix) {
            let path = String(text.prefix { $0 != " " })
            #expect(Tree.exists(path), "CONTRIBUTING.md names \(path), which does not exist: correct the path.")
        }
    }

    @Test func `each place that belongs together with others exists`() throws {
        let section = try #require(self.page.section("## Places that belong together"))
        let places = section.parts(from: "\n### ", to: "\n### ")
        #expect(places.count > 5)
        let files = ["Sources", "Tests", "Docs", "Compat"].flatMap { Tree.files(in: $0, ending: "") }
        let names = Set(files.map { String($0.split(separator: "/").last ?? "") })
        let code = try files.filter { $0.hasSuffix(".swift") }.reduce(into: Data()) { $0 += try Tree.bytes($1) }
        for text in Self.quoted(section) {
            if text.hasSuffix(".swift") {
                let name = String(text.split(separator: "/").last ?? "")
                #expect(names.contains(name), "CONTRIBUTING.md names the file \(text), which does not exist.")
            } else if !text.contains("/"), !text.hasPrefix("ferry ") {
                let words = text.split { !($0.isLetter || $0.isNumber) }
                let unknown = words.filter { code.range(of: Data($0.utf8)) == nil }
                #expect(unknown.isEmpty, "CONTRIBUTING.md names `\(text)`, and no code has \(unknown).")
            }
        }
    }

    /// A target in this table imports only targets above it.
    @Test func `the map has a row for each target in Sources, behind those that it imports`() throws {
        let section = try #require(self.page.section("## Where a change goes"))
        let rows = section.parts(from: "\n| `", to: " |").map { Self.quoted("`\($0)") }
        let manifest = try Manifest()
        let mapped = rows.flatMap(\.self)
        for target in manifest.sources {
            #expect(mapped.contains(target.name), "\(target.name) has no row in the map of CONTRIBUTING.md.")
            let above =
                rows.prefix { !$0.contains(target.name) }.flatMap(\.self)
                + (rows.first { $0.contains(target.name) } ?? [])
            let below = target.dependencies.intersection(mapped).subtracting(above)
            #expect(
                below.isEmpty,
                "The map of CONTRIBUTING.md has \(target.name) above \(below.sorted()), which it imports."
            )
        }
        for name in mapped {
            #expect(
                Tree.exists("Sources/\(name)"),
                "The map of CONTRIBUTING.md has \(name), which is no folder of Sources."
            )
        }
    }

    /// The texts in back-ticks.
    private static func quoted(_ text: String) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }
}
