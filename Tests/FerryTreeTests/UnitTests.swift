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

    @Test func `the gateway's two units have the same program, admin socket and permissions`() throws {
        let units = try ["ferry-gateway", "ferry-gateway-shards"].map { try Tree.text("Compat/systemd/\($0).service") }
        let parts = [
            ("\nExecStart=", "\n"), ("\nExecReload=", "\n"), ("\nRuntimeDirectory=", "\n"),
            ("\nNoNewPrivileges=", "\n[Install]"),
        ]
        for (start, end) in parts {
            let values = units.map { $0.parts(from: start, to: end) }
            #expect(values[0] == values[1] && values[0].count == 1, "\(start)")
        }
    }

    @Test func `the unit of several machines has no socket`() throws {
        let unit = try Tree.text("Compat/systemd/ferry-gateway-shards.service")
        #expect(!unit.contains("\nSockets=") && !unit.contains("\nRequires="))
    }

    @Test func `each page that a unit names is below the directory into which the guide copies the pages`() throws {
        let directory = "/usr/share/doc/ferry"
        #expect(try Tree.text(Self.guide).contains("\ncp -r Docs/. \(directory)\n"))
        for unit in ["gateway", "gateway-shards", "appstore", "worker"].map({ "ferry-\($0).service" }) {
            let text = try Tree.text("Compat/systemd/\(unit)")
            let page = try #require(text.parts(from: "\nDocumentation=file://\(directory)/", to: "\n").first)
            #expect(Tree.exists("Docs/\(page)"), "\(unit) names \(page), and Docs has no such page.")
        }
    }
}
