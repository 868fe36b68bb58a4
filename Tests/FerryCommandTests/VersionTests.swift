import FerryCore
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
}
