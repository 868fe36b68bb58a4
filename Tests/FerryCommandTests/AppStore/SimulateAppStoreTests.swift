import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct SimulateAppStoreTests {
    @Test func `simulate sends notifications, records each attempt, and writes the root of its signatures`()
        async throws
    {
        try await TemporaryDirectory.with { directory in
            // Nothing listens at the discard port of the loopback address: every attempt ends with a socket issue.
            let (tls, record) = (directory.path("tls"), directory.path("record"))
            let program = try FerryProgram(
                [
                    "simulate", "--app-store", "0", "--app-store-url", "http://127.0.0.1:9/app-store",
                    "--app-store-count", "38", "--app-store-rate", "1000", "--app-store-sandbox", "--tls-dir", tls,
                    "--record", record,
                ],
                in: directory
            )
            #expect(try await eventually { try program.result.hasSuffix("}\n") })
            let ports = try JSONSerialization.jsonObject(with: Data(program.result.utf8)) as? [String: Int]
            #expect((ports?["appStore"] ?? 0) > 0)
            #expect(try await eventually { try directory.read("record").split(separator: "\n").count == 38 })
            program.terminate()
            let output = try await program.output()
            #expect(output.status == 0)
            let end = "ferry: app-store: 38 posts sent, 0 taken, 38 failed: 38 × SOCKET_ISSUE\n"
            #expect(output.messages.contains(end), "\(output.messages)")
            let lines = try directory.read("record").split(separator: "\n").map { line in
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
            }
            #expect(lines.allSatisfy { $0["sendAttemptResult"] as? String == "SOCKET_ISSUE" })
            #expect(lines.allSatisfy { $0["attempt"] as? Int == 1 })
            #expect(Set(lines.compactMap { $0["notificationType"] as? String }).contains("EXTERNAL_PURCHASE_TOKEN"))
            #expect(
                try String(contentsOfFile: "\(tls)/app-store-root.pem", encoding: .utf8).contains("BEGIN CERTIFICATE")
            )
        }
    }

    @Test(arguments: [
        (["--app-store-url", "http://localhost/"], "need --app-store PORT"),
        (["--app-store", "0", "--app-store-count", "1"], "--app-store-url URL"),
        (["--app-store", "0", "--app-store-url", "localhost:80"], "not one of http or https"),
        (["--app-store", "70000"], "--app-store takes a port"),
        (["--app-store", "0", "--app-store-rate", "0"], "--app-store-rate takes a number"),
    ])
    func `simulate explains wrong options of the App Store`(_ options: [String], _ words: String) async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(
                ["simulate"] + options + (options.contains("--app-store") ? [] : ["--binary", "0"]),
                in: directory
            )
            #expect(output.status == 2)
            #expect(output.messages.contains(words))
        }
    }
}
