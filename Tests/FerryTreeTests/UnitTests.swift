import Foundation
import Testing

/// Tests that the operator's guide and the units for systemd name the same files.
@Suite struct UnitTests {
    private static let guide = "Docs/begin/operate.md"

    /// The unit asks for a reload over its own path, and does not read the configuration for it.
    @Test func `the guide's configuration has the admin socket that the gateway's unit asks`() throws {
        let unit = try Tree.text("Compat/systemd/ferry-gateway.service")
        let asked = unit.parts(from: "\nExecReload=", to: "\n").flatMap { $0.parts(from: " --socket ", to: " ") }
        let named = try Tree.text(Self.guide).parts(from: "\"admin\": {\"socket\": \"", to: "\"")
        // systemd writes '%t' for the directory /run.
        #expect(asked.map { $0.replacingOccurrences(of: "%t/", with: "/run/") } == named)
        #expect(named.count == 1)
    }

    @Test func `each page that a unit names is below the directory into which the guide copies the pages`() throws {
        let directory = "/usr/share/doc/ferry"
        #expect(try Tree.text(Self.guide).contains("\ncp -r Docs/. \(directory)\n"))
        for unit in ["ferry-gateway.service", "ferry-appstore.service", "ferry-worker.service"] {
            let text = try Tree.text("Compat/systemd/\(unit)")
            let page = try #require(text.parts(from: "\nDocumentation=file://\(directory)/", to: "\n").first)
            #expect(Tree.exists("Docs/\(page)"), "\(unit) names \(page), and Docs has no such page.")
        }
    }
}
