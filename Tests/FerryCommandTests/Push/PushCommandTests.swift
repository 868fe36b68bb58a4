import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct PushCommandTests {
    @Test func `everything accepted is status 0, an outcome for each line, and every payload as it stood`() async throws
    {
        try await PushHarness.run { harness in
            let events = harness.directory.path("events")
            let output = try await harness.push(harness.arguments(harness.lines(1...500)), "--events", events)
            #expect(output.status == 0)
            #expect(output.number("submitted") == 500)
            #expect(output.settled == 500)
            #expect(output.messages == "")
            let arrived = harness.recorder.notifications
            #expect(arrived.map(\.token.hex) == (1...500).map(PushHarness.token))
            #expect(arrived.last.map { String(decoding: $0.payload, as: UTF8.self) } == #"{"aps":{"badge":500}}"#)
            let lines = try harness.directory.read("events").split(separator: "\n")
            #expect(Set(lines).count == 500)
            #expect(lines.first?.hasPrefix(#"{"ref":"no. 1","token":"\#(PushHarness.token(1))","outcome":"#) == true)
        }
    }

    @Test func `rejected tokens are status 1, and everything else arrives once`() async throws {
        let bad = [3, 5, 12, 20]
        let tokens = try Set(bad.map { try DeviceToken(hex: PushHarness.token($0)) })
        try await PushHarness.run(GatewayScript(rules: [.reject(tokens)])) { harness in
            let events = harness.directory.path("events")
            let arguments = try harness.arguments(harness.lines(1...20)) + PushHarness.proving
            let output = try await harness.push(arguments, "--events", events)
            #expect(output.status == 1)
            #expect(output.number("rejected") == 4)
            #expect(output.settled == 20)
            #expect(harness.recorder.counts.count == 16)
            #expect(harness.recorder.duplicates.isEmpty)
            let rejected = try harness.directory.read("events").split(separator: "\n").filter {
                $0.hasSuffix(#""outcome":"rejected","reason":"BadDeviceToken","status":8,"origin":"gateway"}"#)
            }
            #expect(rejected.count == 4)
        }
    }

    @Test func `bad lines are named, counted and left out`() async throws {
        try await PushHarness.run { harness in
            let good = PushHarness.line(1)
            let file = try harness.directory.write("lines", "\(good)\n{\"token\":\"abc\"}\n\n\(good)\nx")
            let output = try await harness.push(harness.arguments(file))
            #expect(output.status == 1)
            #expect(output.number("badLines") == 2)
            #expect(output.number("submitted") == 2)
            #expect(
                output.messages == """
                    \(file):2: the device token has an odd number of hex digits: 3; there is no 'payload'
                    \(file):5: not a line of JSON: no JSON object at byte 0

                    """
            )
        }
    }

    @Test func `a payload over the limit is named with its line, and rejected`() async throws {
        try await PushHarness.run { harness in
            let long =
                #"{"token":"\#(PushHarness.token(2))","payload":{"aps":"\#(String(repeating: "x", count: 2098))"}}"#
            let file = try harness.directory.write("lines", PushHarness.line(1) + "\n" + long + "\n")
            let output = try await harness.push(harness.arguments(file))
            #expect(output.status == 1)
            #expect(output.number("rejected") == 1 && output.number("submitted") == 2)
            #expect(
                output.messages
                    == "\(file):2: the payload has 2108 bytes; the limit is 2048; it is not sent\n"
            )
        }
    }

    @Test func `with --strict the first bad line ends the input`() async throws {
        try await PushHarness.run { harness in
            let file = try harness.directory.write("lines", "\(PushHarness.line(1))\nx\n\(PushHarness.line(2))\n")
            let output = try await harness.push(harness.arguments(file), "--strict")
            #expect(output.status == 2)
            #expect(output.number("submitted") == 1)
            #expect(output.settled == 1)
            #expect(harness.recorder.notifications.count == 1)
        }
    }

    @Test func `bad usage and bad files are status 2 and one sentence`() async throws {
        try await PushHarness.run { harness in
            let lines = try harness.lines(1...3)
            let stranger = try TestCredentials(authority: harness.authority, topic: "com.other", key: .p256)
            try harness.write(stranger.client, as: "stranger")
            let archive = try harness.directory.write("client.p12", stranger.client.pkcs12(passphrase: "right"))
            let wrong = try harness.directory.write("wrong.txt", "wrong\n")
            let server = ["push", lines, "--to", "localhost:\(harness.gateway.port)"]
            let both = [
                "push", lines, "--backend", "migrate", "--binary-to", "localhost:1", "--http2-to", "localhost:1",
            ]
            let twoShares = try harness.directory.write("two.txt", "10 20\n")
            let hexadecimal = try harness.directory.write("hexadecimal.txt", "0x10\n")
            let credentials = [
                "--ca", harness.directory.path("ca.pem"), "--cert", harness.directory.path("client.pem"), "--key",
                harness.directory.path("client-key.pem"),
            ]
            let share = try harness.directory.write("share.txt", "10\n")
            let cases: [([String], String)] = [
                (both + ["--share-file", twoShares], "two.txt holds no share: it takes a number from 0 to 100."),
                (both + ["--share-file", hexadecimal], "hexadecimal.txt holds no share"),
                (both + ["--down-after", "1"], "--down-after needs --fallback."),
                (
                    both + credentials + ["--topic", "com.example.ferry", "--share-file", share, "--events", share],
                    "The events would overwrite the share file; give --events a file of its own."
                ),
                (
                    harness.arguments(lines) + ["--loops", "2"],
                    "--loops 2 needs as many connections: give --connections 2"
                ),
                (harness.arguments(lines) + ["--loops", "0"], "--loops takes a whole number, 1 to 64."),
                (harness.arguments(harness.directory.path("none")), "No such file or directory"),
                (harness.arguments(harness.directory.path("")), "Is a directory"),
                (harness.arguments(lines, ca: "none.pem"), "does not exist"),
                (harness.arguments(lines, ca: "client-key.pem"), "holds a private key and not a certificate"),
                (harness.arguments(lines, cert: "none.pem"), "does not exist"),
                (harness.arguments(lines, key: "stranger-key.pem"), "belong"),
                (server + ["--p12", archive, "--passphrase-file", wrong], "passphrase"),
                (server + ["--p12", archive, "--passphrase-file", "/none"], "does not exist"),
                (harness.arguments(lines) + ["--events", "/none/events"], "No such file or directory"),
                (harness.arguments(lines) + ["--backend", "migrate"], "--to names no side: use --binary-to"),
                (["push", lines, "--backend", "migrate"], "--binary-to HOST:PORT."),
                (
                    ["push", lines, "--backend", "migrate", "--binary-to", "localhost:1"],
                    "--http2-to HOST:PORT, --production or --sandbox."
                ),
                (harness.arguments(lines) + ["--share", "5"], "it needs --backend migrate."),
                (
                    ["push", lines, "--backend", "migrate", "--binary-to", "localhost:1", "--http2-to", "localhost:1"]
                        + ["--share-file", "/dev/null"],
                    "holds no share"
                ),
                (
                    ["push", lines, "--backend", "migrate", "--binary-passphrase-file", wrong],
                    "--binary-passphrase-file needs --binary-p12"
                ),
                (
                    ["push", lines, "--backend", "migrate", "--share", "101"],
                    "--share takes a number, 0 to 100."
                ),
                (["push", lines], "Say where to send: --to HOST:PORT, --production or --sandbox."),
                (harness.arguments(lines) + ["--bogus"], "There is no option '…' here; is --loops meant?"),
                (harness.arguments(lines) + ["--http2"], "Over HTTP/2 send with --backend http2."),
                (harness.arguments(lines) + ["--rate", "fast"], "it may be a secret. A number is wanted."),
                (harness.arguments(lines) + ["--drain-limit", "5m"], "A number of seconds is wanted"),
                (["push", lines, "--to", "https://host:2195/"], "without https:// and path."),
            ]
            for (arguments, words) in cases {
                let output = try await FerryProgram.run(arguments, in: harness.directory)
                #expect(output.status == 2, "\(words)")
                #expect(output.messages.contains(words), "\(words): \(output.messages)")
            }
            #expect(harness.recorder.notifications.isEmpty)
        }
    }

    @Test(
        arguments: [
            ("--settle-time", ["-1", "0", "nan", "1e-30", "86401"], "--settle-time takes seconds, more than 0"),
            ("--connect-timeout", ["-1", "0", "inf"], "--connect-timeout takes seconds, more than 0"),
            ("--drain-limit", ["-1", "-nan", "1e99"], "--drain-limit takes seconds, 0 to 86400."),
            ("--connections", ["-1", "0", "1001"], "--connections takes a whole number, 1 to 1000."),
            ("--cache-length", ["-1", "0", "2000000000"], "--cache-length takes a whole number, 1 to 1073741824."),
            ("--cache-limit", ["-1", "0", "2000000000"], "--cache-limit takes a whole number, 1 to 1073741824."),
            (
                "--connection-retry-limit", ["-1", "9223372036854775807"],
                "--connection-retry-limit takes a whole number, 0 to"
            ),
            ("--connection-retry-time", ["-1", "nan", "86401"], "--connection-retry-time takes seconds, 0 to 86400"),
            ("--rate", ["-1", "0", "nan", "inf"], "--rate takes 0.01 to 1000000000."),
            ("--cache-length", ["x", "99999999999999999999"], "is invalid for '--cache-length"),
            ("--to", ["localhost:0", "localhost:65536", "localhost:-1"], "its port 1 to 65535"),
        ] as [(String, [String], String)]
    )
    func `a number out of range is status 2 and says the range`(
        option: String,
        values: [String],
        words: String
    ) async throws {
        try await TemporaryDirectory.with { directory in
            for value in values {
                let to = option == "--to" ? [] : ["--to", "localhost:1"]
                let output = try await FerryProgram.run(["push", "/dev/null", option, value] + to, in: directory)
                #expect(output.status == 2, "\(option) \(value)")
                #expect(output.messages.contains(words), "\(option) \(value): \(output.messages)")
                #expect(output.result == "")
            }
        }
    }

    @Test func `no message has a device token, wherever in a line it stands`() async throws {
        try await PushHarness.run { harness in
            let token = PushHarness.token(0xfeed)
            let lines = [
                #"{"token":"\#(token)0","payload":{}}"#, #"{"\#(token)":{"aps":{}}}"#, #"["\#(token)"]"#, "\(token)",
                #"{"token":"\#(token)","payload":{},"topic":"\#(token) "}"#,
                #"{"token":"\#(token)","payload":{},"priority":"\#(token)"}"#,
                #"{"token":"\#(token)","payload":{},"collapseId":"\#(token)x"}"#,
                #"{"token":"\#(token)","payload":{},"\#(token)":1}"#,
            ]
            let file = try harness.directory.write("lines", lines.joined(separator: "\n"))
            let output = try await harness.push(harness.arguments(file), "--verbose")
            #expect(output.number("badLines") == lines.count - 1)
            #expect(output.messages.contains("warning: the member with a name of 64 bytes is not known"))
            #expect(!output.messages.contains("feed"), "\(output.messages)")
        }
    }

    @Test func `a right passphrase opens a PKCS#12 file`() async throws {
        try await PushHarness.run { harness in
            let client = try harness.authority.client()
            let archive = try harness.directory.write("client.p12", client.pkcs12(passphrase: "right"))
            let output = try await harness.push(
                [
                    "push", harness.lines(1...3), "--to", "localhost:\(harness.gateway.port)", "--p12", archive,
                    "--passphrase-file", harness.directory.write("right.txt", "right\n"),
                    "--ca", harness.directory.path("ca.pem"), "--settle-time", "1",
                ]
            )
            #expect(output.status == 0)
            #expect(output.result.hasPrefix("submitted"))
        }
    }

    static func expectNoConnection(_ output: FerryProgram.Output, _ words: String) {
        #expect(output.status == 3, "\(words)")
        #expect(output.messages.contains(words), "\(words): \(output.messages)")
        // After a second without a connection, people are told early.
        let sentences = output.messages.split(separator: "\n").filter { !$0.hasSuffix(" It is tried again.") }
        #expect(sentences.count == 1)
        #expect(output.number("submitted") == 3)
        #expect(output.settled == 3)
        #expect(output.number("undelivered") == 3)
    }

    @Test func `no connection is status 3, one sentence, and a summary that adds up`() async throws {
        try await PushHarness.run { harness in
            let lines = try harness.lines(1...3)
            _ = try harness.directory.write("other.pem", ThrowAwayCA().certificatePEM)
            try harness.write(ThrowAwayCA().client(), as: "unknown")
            // The port was free a moment ago, and the system does not give it to another process so soon.
            let free = try await SimulatedGateway.start(.init(credentials: TestCredentials()))
            await free.stop()
            for limit in [["--connection-retry-limit", "1"], ["--connection-retry-time", "0.3"]] {
                let arguments = harness.arguments(lines, port: free.port) + limit
                Self.expectNoConnection(try await harness.push(arguments), "refused")
            }
            Self.expectNoConnection(try await harness.push(harness.arguments(lines, ca: "other.pem")), "--ca")
            Self.expectNoConnection(
                try await harness.push(harness.arguments(lines), "--server-name", "other.example"),
                "--server-name"
            )
            Self.expectNoConnection(
                try await harness.push(
                    harness.arguments(lines, port: free.port),
                    "--connection-retry-limit",
                    "0",
                    "--drain-limit",
                    "0.5"
                ),
                "No connection to"
            )
            for version in ["1.2", "1.3"] {
                let arguments = harness.arguments(lines, cert: "unknown.pem", key: "unknown-key.pem")
                Self.expectNoConnection(
                    try await harness.push(arguments, "--tls-max", version),
                    "refused the client certificate"
                )
            }
            #expect(harness.recorder.notifications.isEmpty)
        }
    }

    @Test func `a silent server is status 3 within the time for connecting`() async throws {
        var script = GatewayScript()
        script.handshake = .silent
        try await PushHarness.run(script) { harness in
            let arguments = try harness.arguments(harness.lines(1...3))
            let output = try await harness.push(
                arguments,
                "--connect-timeout",
                "0.2",
                "--connection-retry-limit",
                "1"
            )
            Self.expectNoConnection(output, "did not answer in time")
        }
    }
}
