import FerryCore
import FerryOpenSSL
import Testing

@testable import FerryCommand

@Suite(.timeLimit(.minutes(10))) struct VersionTests {
    @Test func `--version says the version`() async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(["--version"], in: directory)
            #expect(output.status == 0)
            #expect(output.result == "\(Version.current)\n")
            #expect(output.messages == "")
        }
    }

    @Test func `--version --verbose says which libraries run, and whose they are`() async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(["--version", "--verbose"], in: directory)
            #expect(output.status == 0, "\(output.messages)")
            let lines = output.result.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines.first == "\(Version.current)")
            #expect(lines.last?.hasPrefix("Of this system: OpenSSL \(OpenSSLVersion.current), nghttp2 1.") == true)
            #if canImport(Glibc)
            #expect(lines.last?.contains(", glibc 2.") == true)
            #endif
        }
    }

    @Test func `a portable build lists its parts, and the C library as the only one of the system`() {
        let lines = VersionReport.verbose(parts: ["swift-nio 2.0 (Apache-2.0)"]).split(separator: "\n")
        #expect(lines.first == "\(Version.current)")
        let inside = lines.first { $0.hasPrefix("Inside: OpenSSL 3.") }
        #expect(inside?.contains(", nghttp2 1.") == true && inside?.contains(", SQLite 3.") == true)
        #expect(lines.filter { $0.hasPrefix("Of this system: ") }.allSatisfy { !$0.contains("SQLite") })
        #expect(lines.last == "  swift-nio 2.0 (Apache-2.0)")
    }
}
