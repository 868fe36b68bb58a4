import FerryOpenSSL
import Foundation
import Testing

/// A low limit of files and sockets must lead to a message, and never to a trap.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DescriptorLimitTests {
    private static let commands: [[String]] = [
        ["push", "lines", "--to", "localhost:1", "--connection-retry-limit", "1"],
        ["push", "lines", "--to", "localhost:1", "--dry-run"],
        ["push", "lines", "--backend", "http2", "--to", "localhost:1", "--connection-retry-limit", "1"]
            + ["--p8", "key.p8", "--key-id", "ABCDE12345", "--team-id", "FGHIJ67890"],
        ["feedback", "--to", "localhost:1"], ["doctor", "localhost:1"], ["demo"],
        ["replay", "replay.transcript", "--to", "localhost:1", "--plain-server"],
        ["record", "new.transcript", "--listen", "1", "--to", "localhost:1", "--plain"], ["simulate", "--binary", "1"],
        ["bench", "binary", "--count", "1000", "--run", "none"],
    ]
    private static let words = "files and sockets may be open at a time (ulimit -n)"

    /// The smallest limit is 8: below it, the loader cannot load the program's own libraries.
    @Test(arguments: [8, 12, 17, 25])
    func `every command that opens sockets says that it needs more, with status 2`(limit: Int) async throws {
        try await TemporaryDirectory.with { directory in
            _ = try directory.write("lines", PushHarness.line(1))
            _ = try directory.write("key.p8", ES256Key.generate().p8())
            _ = try directory.write("replay.transcript", "ferry transcript 1\nservice: gateway\n0 > open\n0.1 < end\n")
            for command in Self.commands {
                let output = try await FerryProgram.run(
                    command,
                    in: directory,
                    shell: "cd '\(directory.path(""))'; ulimit -n \(limit); exec \"$@\""
                )
                #expect(output.status == 2, "\(limit), \(command): \(output.messages)")
                #expect(
                    output.messages.contains(Self.words) || command[0] == "bench",
                    "\(limit), \(command): \(output.messages)"
                )
                #expect(output.result == "")
            }
        }
    }

    @Test func `a soft limit is raised as far as needed`() async throws {
        try await PushHarness.run { harness in
            let output = try await FerryProgram.run(
                harness.arguments(harness.lines(1...10)) + ["--connections", "100"],
                in: harness.directory,
                shell: #"ulimit -S -n 12; exec "$@""#
            )
            #expect(output.status == 0, "\(output.messages)")
            #expect(output.number("submitted") == 10)
        }
    }

    @Test func `as many connections as a configuration wants count, too`() async throws {
        try await TemporaryDirectory.with { directory in
            let config = try directory.write("config.json", #"{"address":"localhost","port":1,"maxConnections":500}"#)
            let lines = try directory.write("lines", "")
            for arguments in [["--config", config], ["--to", "localhost:1", "--connections", "500"]] {
                let output = try await FerryProgram.run(
                    ["push", lines] + arguments,
                    in: directory,
                    shell: #"ulimit -n 400; exec "$@""#
                )
                #expect(output.status == 2)
                #expect(output.messages.contains("Only 400 \(Self.words)"), "\(output.messages)")
            }
        }
    }

    @Test func `what opens no socket needs no more than before`() async throws {
        try await TemporaryDirectory.with { directory in
            let key = try directory.write("key.p8", ES256Key.generate().p8())
            let output = try await FerryProgram.run(
                ["token", "--p8", key, "--key-id", "ABCDE12345", "--team-id", "FGHIJ67890"],
                in: directory,
                shell: #"ulimit -n 16; exec "$@""#
            )
            #expect(output.status == 0, "\(output.messages)")
        }
    }
}
