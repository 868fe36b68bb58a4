import Foundation
import Testing

/// Tests of `ferry record` and `ferry replay` as separate programs.
@Suite(.timeLimit(.minutes(10))) struct RecordAndReplayTests {
    private struct Listener {
        var program: FerryProgram
        var port: Int

        /// Starts a command that prints its port.
        static func start(_ arguments: [String], _ key: String, in directory: TemporaryDirectory) async throws
            -> Listener
        {
            let program = try FerryProgram(arguments, in: directory)
            #expect(try await eventually { try program.result.hasSuffix("}\n") })
            let ports = try JSONSerialization.jsonObject(with: Data(program.result.utf8)) as? [String: Int]
            return Listener(program: program, port: try #require(ports?[key]))
        }
    }

    private static func push(_ lines: String, to port: Int, _ tls: String) -> [String] {
        [
            "push", lines, "--json", "--to", "localhost:\(port)", "--ca", "\(tls)/ca.pem",
            "--cert", "\(tls)/client.pem", "--key", "\(tls)/client-key.pem",
        ] + PushHarness.proving
    }

    @Test func `a recorded session replays against the gateway and against a second run of the client`() async throws {
        try await TemporaryDirectory.with { directory in
            let tls = directory.path("tls")
            let transcript = directory.path("transcript")
            let script = try directory.write("script", #"{"rules":[{"at":3,"times":1}]}"#)
            let lines = try directory.write("lines", (1...10).map { PushHarness.line($0) + "\n" }.joined())
            let client = ["--ca", "\(tls)/ca.pem", "--cert", "\(tls)/client.pem", "--key", "\(tls)/client-key.pem"]

            let simulate = ["simulate", "--binary", "0", "--tls-dir", tls, "--script", script]
            let gateway = try await Listener.start(simulate, "binary", in: directory)
            let recorder = try await Listener.start(
                ["record", transcript, "--listen", "0", "--tls-dir", tls, "--to", "localhost:\(gateway.port)"] + client,
                "port",
                in: directory
            )
            let pushed = try await FerryProgram.run(Self.push(lines, to: recorder.port, tls), in: directory)
            #expect(pushed.number("rejected") == 1)
            recorder.program.interrupt()
            #expect(try await recorder.program.output().status == 0)
            gateway.program.interrupt()
            _ = try await gateway.program.output()

            // The rule applies only once, so the replay needs a new gateway.
            let fresh = try await Listener.start(simulate, "binary", in: directory)
            let replayed = try await FerryProgram.run(
                ["replay", transcript, "--to", "localhost:\(fresh.port)"] + client,
                in: directory
            )
            #expect(replayed.status == 0, "\(replayed.messages)")
            fresh.program.interrupt()
            _ = try await fresh.program.output()

            let socket = try await Listener.start(
                ["replay", transcript, "--listen", "0", "--tls-dir", tls, "--mode", "exact"]
                    + ["--varying", "identifiers,times"],
                "port",
                in: directory
            )
            let again = try await FerryProgram.run(Self.push(lines, to: socket.port, tls), in: directory)
            #expect(again.number("rejected") == 1)
            let output = try await socket.program.output()
            #expect(output.status == 0, "\(output.messages)")
        }
    }

    @Test func `a client that sends something else is status 1 and one sentence with the line`() async throws {
        try await TemporaryDirectory.with { directory in
            let tls = directory.path("tls")
            let transcript = try directory.write(
                "transcript",
                "ferry transcript 1\nservice: gateway\n0 > bytes 00 0002 abcd 0002 7b7d\n1 > end\n"
            )
            let socket = try await Listener.start(
                ["replay", transcript, "--listen", "0", "--tls-dir", tls],
                "port",
                in: directory
            )
            let lines = try directory.write("lines", PushHarness.line(1) + "\n")
            let push = try FerryProgram(Self.push(lines, to: socket.port, tls) + ["--drain-limit", "1"], in: directory)
            let output = try await socket.program.output()
            #expect(output.status == 1)
            #expect(output.messages.contains("line 3, connection 1: expected notification, command 0"))
            push.terminate()
            _ = try await push.output()
        }
    }

    @Test func `bad usage is status 2 and one sentence`() async throws {
        try await TemporaryDirectory.with { directory in
            let broken = try directory.write("broken", "ferry transcript 1\nservice: gateway\nx\n")
            let good = try directory.write("good", "ferry transcript 1\nservice: gateway\n")
            let cases: [([String], String)] = [
                (["replay", good], "which side"),
                (["replay", good, "--listen", "0", "--to", "localhost:1"], "which side"),
                (["replay", broken, "--listen", "0"], "Line 3"),
                (["replay", directory.path("none"), "--listen", "0"], "does not exist"),
                (["replay", good, "--listen", "70000"], "port"),
                (["replay", good, "--listen", "0", "--varying", "colour"], "--varying"),
                (["replay", good, "--listen", "0", "--cut", "-1"], "--cut"),
                (["replay", good, "--listen", "0", "--limit", "nan"], "--limit takes seconds"),
                (["replay", good, "--listen", "0", "--delay", "1e300"], "--delay takes seconds"),
                (["record", "/none/t", "--listen", "0", "--to", "localhost:1"], "cannot be written"),
                (["record", directory.path("t"), "--listen", "-1", "--to", "localhost:1"], "port"),
                (
                    ["record", directory.path("t"), "--listen", "0", "--to", "localhost:1", "--cert", "/none"],
                    "of --cert"
                ),
            ]
            for (arguments, words) in cases {
                let output = try await FerryProgram.run(arguments, in: directory)
                #expect(output.status == 2, "\(words): \(output.messages)")
                #expect(output.messages.contains(words), "\(words): \(output.messages)")
            }
        }
    }

    @Test func `a port that refuses is status 3`() async throws {
        try await TemporaryDirectory.with { directory in
            let good = try directory.write("good", "ferry transcript 1\nservice: gateway\n0 > open\n")
            let output = try await FerryProgram.run(
                ["replay", good, "--to", "localhost:1", "--plain-server"],
                in: directory
            )
            #expect(output.status == 3)
            #expect(output.messages.contains("refused"))
        }
    }
}
