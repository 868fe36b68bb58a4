import Ferry
import FerryOpenSSL
import FerryTerminal
import FerryTesting
import Foundation
import Testing

@testable import FerryCommand

@Suite(.timeLimit(.minutes(10))) struct FeedbackCommandTests {
    private static let tuples = [
        FeedbackScript.Tuple(time: Date(timeIntervalSince1970: 1_585_656_000), token: [0, 0xfc]),
        FeedbackScript.Tuple(time: Date(timeIntervalSince1970: 1_585_656_001), token: [0xaa]),
    ]

    @Test func `the list is a table, or one JSON object a line, and nothing else is the result`() async throws {
        try await FeedbackHarness.run(FeedbackScript(Self.tuples)) { harness in
            let table = try await harness.feedback()
            #expect(table.status == 0)
            #expect(
                table.result == """
                    gone since            token
                    2020-03-31T12:00:00Z  00fc
                    2020-03-31T12:00:01Z  aa

                    """
            )
            #expect(table.messages == "ferry: 2 tokens\n")
            let tuple = try FeedbackTuple(
                time: Date(timeIntervalSince1970: 1_585_656_000),
                token: DeviceToken([0, 0xfc])
            )
            harness.service.add(tuple)
            let lines = try await harness.feedback("--json")
            #expect(lines.status == 0)
            #expect(
                lines.result == #"{"token":"00fc","timestamp":1585656000,"date":"2020-03-31T12:00:00Z"}"# + "\n"
            )
        }
    }

    @Test func `an empty list is status 0 and no line`() async throws {
        try await FeedbackHarness.run { harness in
            for options in [[], ["--json"]] {
                let output = try await FerryProgram.run(harness.arguments() + options, in: harness.directory)
                #expect(output.status == 0)
                #expect(output.result == "")
            }
        }
    }

    @Test func `what is older than --since is left out`() async throws {
        try await FeedbackHarness.run(FeedbackScript(Self.tuples)) { harness in
            let output = try await harness.feedback("--json", "--since", "2020-03-31T12:00:01Z")
            #expect(output.status == 0)
            #expect(output.result.contains(#"{"token":"aa","#))
            #expect(!output.result.contains("00fc"))
            #expect(output.messages == "ferry: 1 token, 1 older left out\n")
        }
    }

    @Test(
        arguments: [
            (.truncates, "300", 1, "in the middle of a tuple"), (.resets, "300", nil, "failed"),
            (.neverCloses, "0.3", nil, "did not end the feedback list"),
            (.silent, "0.3", 0, "did not end the feedback list"),
        ] as [(FeedbackScript.Fault, String, Int?, String)]
    )
    func `a list that is not whole is status 1 behind what was read`(
        fault: FeedbackScript.Fault,
        idleTimeout: String,
        count: Int?,
        words: String
    ) async throws {
        try await FeedbackHarness.run(FeedbackScript(Self.tuples, fault: fault)) { harness in
            let output = try await harness.feedback("--json", "--idle-timeout", idleTimeout)
            #expect(output.status == 1)
            if let count { #expect(output.result.split(separator: "\n").count == count) }
            #expect(output.messages.contains(words), "\(output.messages)")
            #expect(!output.messages.contains("00fc"))
        }
    }

    @Test func `bad tuples are status 1 and counted`() async throws {
        let script = FeedbackScript([.init(time: Date(timeIntervalSince1970: 1), token: [])] + Self.tuples)
        try await FeedbackHarness.run(script) { harness in
            let output = try await harness.feedback("--json")
            #expect(output.status == 1)
            #expect(output.result.split(separator: "\n").count == 2)
            #expect(output.messages == "ferry: 2 tokens, 1 bad skipped\n")
        }
    }

    @Test func `no connection and refused credentials are status 3 and one sentence`() async throws {
        try await FeedbackHarness.run(FeedbackScript(Self.tuples)) { harness in
            let other = try harness.directory.write("other.pem", ThrowAwayCA().certificatePEM)
            let free = try await SimulatedFeedback.start(.init(credentials: TestCredentials()))
            await free.stop()
            let anonymous = Array(harness.arguments().prefix(5))
            let cases: [([String], String)] = [
                (harness.arguments(port: free.port), "refused"),
                (harness.arguments() + ["--ca", other], "--ca"),
                (harness.arguments() + ["--server-name", "other.example"], "--server-name"),
                (anonymous, "--cert and --key"),
            ]
            for (arguments, words) in cases {
                let output = try await FerryProgram.run(arguments, in: harness.directory)
                #expect(output.status == 3, "\(words)")
                #expect(output.messages.contains(words), "\(words): \(output.messages)")
                #expect(output.messages.split(separator: "\n").count == 1)
                #expect(output.result == "")
            }
            #expect(harness.service.tuples.count == 2)
        }
    }

    @Test func `a server of HTTP/2 is named at once`() async throws {
        try await APNsHarness.run { harness in
            let arguments = ["feedback", "--idle-timeout", "300"] + harness.server() + harness.certificate
            let output = try await FerryProgram.run(arguments, in: harness.directory)
            #expect(output.status == 3)
            #expect(output.messages.contains("is no feedback service: it speaks HTTP/2."), "\(output.messages)")
            #expect(output.messages.split(separator: "\n").count == 1)
        }
    }

    @Test func `a server that says nothing is named, and read on`() async throws {
        try await PushHarness.run { harness in
            let limits = ["--connect-timeout", "300", "--idle-timeout", "5"]
            let arguments = ["feedback"] + limits + harness.arguments("").suffix(8)
            let output = try await FerryProgram.run(arguments, in: harness.directory)
            #expect(output.status == 1)
            let lines = output.messages.split(separator: "\n")
            #expect(lines.first?.hasPrefix("ferry: Nothing has come from localhost:") == true, "\(output.messages)")
            #expect(lines.dropFirst().first?.contains("said nothing for 5.0 seconds") == true, "\(output.messages)")
        }
    }

    @Test func `bad usage is status 2`() async throws {
        try await FeedbackHarness.run { harness in
            let cases: [([String], String)] = [
                (["feedback"], "Say where to read"),
                (["feedback", "--production"], "Apple switched feedback.push.apple.com off on 2021-03-31"),
                (
                    ["feedback", "--to", "feedback.sandbox.push.apple.com:2196"],
                    "feedback.sandbox.push.apple.com off on"
                ),
                (["feedback", "--to", "api.push.apple.com:443"], "speaks HTTP/2, where there is no feedback list"),
                (harness.arguments() + ["--sandbox"], "excludes"),
                (harness.arguments() + ["--every", "0"], "--every takes seconds, more than 0"),
                (harness.arguments() + ["--idle-timeout", "-1"], "--idle-timeout takes seconds, more than 0"),
                (harness.arguments() + ["--connect-timeout", "nan"], "--connect-timeout takes seconds"),
                (harness.arguments() + ["--sweep-timeout", "1e300"], "--sweep-timeout takes seconds"),
                (harness.arguments() + ["--every", "inf"], "--every takes seconds"),
                (harness.arguments() + ["--since", "yesterday"], "--since"),
                (harness.arguments() + ["--cert", "none.pem"], "does not exist"),
            ]
            for (arguments, words) in cases {
                let output = try await FerryProgram.run(arguments, in: harness.directory)
                #expect(output.status == 2, "\(words)")
                #expect(output.messages.contains(words), "\(words): \(output.messages)")
            }
            #expect(harness.service.counts.connections == 0)
        }
    }

    @Test(arguments: [true, false])
    func `with --every it reads again until a signal`(byInterrupt: Bool) async throws {
        try await FeedbackHarness.run(FeedbackScript(Self.tuples)) { harness in
            let program = try FerryProgram(
                harness.arguments() + ["--json", "--every", "0.05"],
                in: harness.directory
            )
            #expect(try await eventually { try program.result.split(separator: "\n").count == 2 })
            harness.service.add(FeedbackTuple(time: Date(timeIntervalSince1970: 3), token: try DeviceToken([3])))
            #expect(try await eventually { try program.result.split(separator: "\n").count == 3 })
            if byInterrupt { program.interrupt() } else { program.terminate() }
            let output = try await program.output()
            #expect(output.status == 0)
            #expect(output.result.split(separator: "\n").count == 3)
        }
    }

    @Test func `with --every a failed reading is not the end, and counts`() async throws {
        try await FeedbackHarness.run(FeedbackScript(Self.tuples, fault: .truncates, times: 1)) { harness in
            let program = try FerryProgram(
                harness.arguments() + ["--json", "--every", "0.05"],
                in: harness.directory
            )
            #expect(try await eventually { harness.service.counts.handshakes >= 3 })
            program.interrupt()
            let output = try await program.output()
            #expect(output.status == 1)
            #expect(output.messages.contains("in the middle of a tuple"))
        }
    }

    @Test func `an output that cannot be written ends the reading`() async throws {
        try await FeedbackHarness.run(FeedbackScript(Self.tuples, fault: .neverCloses)) { harness in
            var configuration = FeedbackConfiguration(
                host: "localhost",
                port: harness.service.port,
                identity: try TLSIdentity(
                    certificatePath: harness.directory.path("client.pem"),
                    privateKeyPath: harness.directory.path("client-key.pem")
                )
            )
            configuration.trustRoots = .file(harness.directory.path("ca.pem"))
            configuration.interval = nil
            let run = FeedbackRun(reader: try FeedbackReader(configuration), hasIdentity: true) {
                (_) throws(FileFailure) in
                throw FileFailure(code: EPIPE)
            }
            do {
                _ = try await run.run()
                Issue.record("it went well")
            } catch let failure as CommandFailure {
                #expect(failure.status == .badUsage)
                #expect(failure.message.contains("cannot be written"))
            }
        }
    }

    @Test func `a node-apn options object reads the list, and the command line counts in place of it`() async throws {
        try await FeedbackHarness.run(FeedbackScript(Self.tuples)) { harness in
            var object: [String: Any] = [
                "cert": harness.directory.path("client.pem"), "key": harness.directory.path("client-key.pem"),
                "ca": [harness.directory.path("ca.pem")], "address": "localhost", "port": harness.service.port,
                "cacheLength": 5, "batchFeedback": true,
            ]
            func read(_ more: String...) async throws -> FerryProgram.Output {
                let config = try harness.directory.write("config.json", JSONSerialization.data(withJSONObject: object))
                // With a higher limit there is no hint, which a slow machine would cause.
                let arguments = ["feedback", "--idle-timeout", "300", "--config", config] + more
                return try await FerryProgram.run(arguments, in: harness.directory)
            }
            let first = try await read("--json")
            #expect(first.status == 0)
            #expect(first.result.split(separator: "\n").count == 2)
            #expect(
                first.messages == """
                    cert: as --cert \(harness.directory.path("client.pem"))
                    key: as --key \(harness.directory.path("client-key.pem"))
                    address "localhost": the host of --to
                    port \(harness.service.port): the port of --to
                    ca: as --ca \(harness.directory.path("ca.pem"))
                    cacheLength 5: of sending: see ferry push
                    batchFeedback true: each device is written as it is read
                    ferry: 2 tokens

                    """
            )
            object["port"] = 1
            object["key"] = "/none/key.pem"
            let command = Array(harness.arguments().dropFirst())
            let second = try await FerryProgram.run(
                ["feedback", "--config", harness.directory.path("config.json")] + command,
                in: harness.directory
            )
            #expect(second.status == 0, "\(second.messages)")
            #expect(try await read().status == 2)
            object = ["cert": harness.directory.path("client.pem")]
            let nowhere = try await read()
            #expect(nowhere.status == 2)
            #expect(nowhere.messages.contains("Say where to read: --to HOST:PORT"))
            object = ["production": true]
            #expect(try await read().messages.contains("Apple switched feedback.push.apple.com off on 2021-03-31"))
        }
    }

    @Test func `interval of a configuration repeats the reading`() async throws {
        try await FeedbackHarness.run(FeedbackScript(Self.tuples)) { harness in
            let object: [String: Any] = [
                "cert": harness.directory.path("client.pem"), "key": harness.directory.path("client-key.pem"),
                "ca": harness.directory.path("ca.pem"), "address": "localhost", "port": harness.service.port,
                "interval": 0.05,
            ]
            let config = try harness.directory.write("config.json", JSONSerialization.data(withJSONObject: object))
            let program = try FerryProgram(["feedback", "--json", "--config", config], in: harness.directory)
            #expect(try await eventually { try program.messages.contains("ferry: 2 tokens\nferry: 0 tokens\n") })
            program.interrupt()
            #expect(try await program.output().status == 0)
        }
    }
}
