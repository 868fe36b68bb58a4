import Foundation
import Testing

/// The log of the receiver as a program sees it.
@Suite(.timeLimit(.minutes(10))) struct AppStoreLogTests {
    @Test func `the receiver has the same forms as the gateway`() async throws {
        try await AppStoreHarness.run { harness in
            let (program, _) = try await harness.serve(["--log-format", "json"])
            program.terminate()
            let messages = try await program.output().messages
            let line = try #require(messages.split(separator: "\n").last)
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["event"] as? String == "stopped", "\(messages)")
            #expect(object?["level"] as? String == "notice")
            #expect(object?["taken"] as? Int == 0)
            let (quiet, _) = try await harness.serve(["--log-level", "error"])
            quiet.terminate()
            #expect(try await quiet.output().messages == "")
        }
    }
}
