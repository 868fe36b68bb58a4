import Foundation
import Testing

/// Checks that the Swift code of the pages for new users compiles, and that their links lead somewhere.
@Suite struct PageSnippetTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().appending(path: "../../..").standardized

    private static let catalogues = ["Ferry", "FerryAppStore", "FerryAppStoreTesting", "FerryTesting"].map {
        "Sources/\($0)/\($0).docc"
    }

    /// The files below a directory whose name ends so, as paths below the package.
    private static func files(in directory: String, endingIn end: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: self.root.appending(path: directory).path)
            .filter { $0.hasSuffix(end) }.sorted().map { "\(directory)/\($0)" }
    }

    private static func text(_ file: String) throws -> String {
        try String(contentsOf: self.root.appending(path: file), encoding: .utf8)
    }

    private static func withoutIndentation(_ text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The blocks of Swift code on a page, without indentation and without the imports at their beginning. Without
    /// manifests, which belong to another package.
    private static func blocks(of page: String) throws -> [String] {
        let parts = try self.text(page).components(separatedBy: "\n```swift\n").dropFirst()
        return parts.compactMap { part in
            let lines = self.withoutIndentation(part.components(separatedBy: "\n```")[0])
            guard !lines.contains("import PackageDescription") else { return nil }
            let code = lines.drop { $0.isEmpty || $0.hasPrefix("import ") }
            return code.isEmpty ? nil : code.joined(separator: "\n")
        }
    }

    @Test func `each block of Swift code stands in a file that is compiled`() throws {
        let programs = try Self.files(in: "Examples", endingIn: ".swift").filter { !$0.contains("/.build/") }
        let snippets = ["PageSnippets", "ReferencePageSnippets", "AppStorePageSnippets"]
            .map { "Tests/FerryTests/Documentation/\($0).swift" }
        let compiled = try (programs + snippets).map { file in
            Self.withoutIndentation(try Self.text(file)).joined(separator: "\n")
        }
        let articles = try Self.catalogues.flatMap { try Self.files(in: $0, endingIn: ".md") }
        for page in try ["README.md"] + Self.files(in: "Docs", endingIn: ".md") + articles {
            for block in try Self.blocks(of: page) {
                #expect(compiled.contains { $0.contains(block) }, "\(page) has code that is compiled nowhere")
            }
        }
    }

    @Test func `each command of the README is one that CI runs`() throws {
        let scripts = try ["run", "test", "demo", "builds"].map { try Self.text(".ci/\($0)") }.joined()
        let parts = try Self.text("README.md").components(separatedBy: "\n```\n")
        // Every second part is the inside of a block, or between blocks of another language.
        let lines = parts.filter { $0.hasPrefix("git ") || $0.hasPrefix(".ci/") }
            .flatMap { $0.components(separatedBy: "\n") }
            .filter { !$0.hasPrefix("git clone ") }
        #expect(lines.count == 2)
        for line in lines { #expect(scripts.contains("\n\(line)\n"), "\(line)") }
    }

    @Test func `the README has fewer than 150 lines`() throws {
        #expect(try Self.text("README.md").components(separatedBy: "\n").count < 150)
    }

    @Test func `each link to a file leads to one`() throws {
        let pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
        for page in try pages + Self.files(in: "Docs", endingIn: ".md") {
            let directory = Self.root.appending(path: page).deletingLastPathComponent()
            for link in try Self.text(page).matches(of: /\]\((?<path>[\w.\/-]+)(#[\w-]*)?\)/).map(\.output.path) {
                let target = directory.appending(path: String(link)).standardized.path
                #expect(FileManager.default.fileExists(atPath: target), "\(page) links to \(link)")
            }
        }
    }
}
