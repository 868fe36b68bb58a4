import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import Testing

/// Faults of input, credentials and options must be reported before anything is sent.
@Suite(.timeLimit(.minutes(10))) struct PushHTTP2InputTests {
    @Test(
        arguments: [
            (#""topic":"com.example.other","pushType":"voip""#, "the topic does not end in .voip"),
            (#""topic":"com.example.ferry.voip","pushType":"alert""#, "the topic ends in .voip"),
            (#""pushType":"background","priority":10"#, "the priority is 10; push type background takes 5"),
            (#""pushType":"liveactivity","priority":1"#, "the priority is 1; push type liveactivity takes 10, 5"),
            (#""apnsId":"7""#, "the apns-id is not a UUID"),
            (
                #""collapseId":"\#(String(repeating: "c", count: 65))""#,
                "the collapse id has 65 bytes; it must have 1 to 64"
            ),
            (#""pushType":"fax""#, "there is no such push type"),
            (#""topic":"a b""#, "topic"),
        ]
    )
    func `a line that APNs would refuse is a bad line, and nothing of it is sent`(
        members: String,
        words: String
    ) async throws {
        try await APNsHarness.run { harness in
            let bad = #"{"token":"00fe","payload":{},\#(members)}"#
            let file = try harness.directory.write("lines", "\(PushHarness.line(1))\n\(bad)\n\(PushHarness.line(2))\n")
            let output = try await harness.push(file)
            #expect(output.status == 1)
            #expect(output.number("badLines") == 1)
            #expect(output.number("submitted") == 2)
            #expect(output.messages.hasPrefix("\(file):2: "), "\(output.messages)")
            #expect(output.messages.contains(words), "\(output.messages)")
            #expect(output.messages.split(separator: "\n").count == 1)
            #expect(harness.recorder.requests.count == 2)
        }
    }

    @Test func `payloads are limited to 4096 bytes, and to 5120 for voip`() async throws {
        try await APNsHarness.run { harness in
            func line(_ bytes: Int, _ more: String = "") -> String {
                let text = String(repeating: "x", count: bytes - #"{"a":""}"#.utf8.count)
                return #"{"token":"00fe","payload":{"a":"\#(text)"}\#(more)}"#
            }
            let voip = #","pushType":"voip""#
            let lines = [line(4096), line(4097), line(5120, voip), line(5121, voip)]
            let file = try harness.directory.write("lines", lines.joined(separator: "\n"))
            let output = try await harness.push(file)
            #expect(output.number("submitted") == 2)
            #expect(output.messages.contains(":2: the payload has 4097 bytes; the limit is 4096\n"))
            #expect(output.messages.contains(":4: "), "\(output.messages)")
            #expect(output.messages.contains("5121"), "\(output.messages)")
            #expect(Set(harness.recorder.requests.map(\.payload.count)) == [4096, 5120])
        }
    }

    @Test func `a line without a topic is bad with a provider token, and good with a certificate`() async throws {
        try await APNsHarness.run { harness in
            let lines = try harness.lines(1...2)
            let bad = try await harness.push(lines, topic: nil)
            #expect(bad.status == 1)
            #expect(bad.number("badLines") == 2)
            #expect(bad.messages.contains(":1: there is no 'topic', and no --topic for lines without one; give"))
            #expect(bad.messages.components(separatedBy: "there is no 'topic'").count == 2)
            let strict = try await harness.push(lines, topic: nil, "--strict")
            #expect(strict.status == 2)
            #expect(harness.recorder.requests.isEmpty)
            let good = try await harness.push(lines, as: harness.certificate, topic: nil)
            #expect(good.status == 0)
        }
    }

    @Test func `a push type that needs provider tokens is bad with a certificate`() async throws {
        try await APNsHarness.run { harness in
            let file = try harness.directory.write("lines", #"{"token":"00fe","payload":{},"pushType":"location"}"#)
            let output = try await harness.push(file, as: harness.certificate)
            #expect(output.number("badLines") == 1)
            #expect(output.messages.contains("needs provider tokens"), "\(output.messages)")
            #expect(try await harness.push(file).status == 0)
        }
    }

    // MARK: Credentials

    /// A key on the curve P-384, which Ferry cannot make itself.
    static let otherCurve = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDC6dcctkV00gWvGG/Y3
        8LThTjwJaaUrxEa9Y/nSuxgvSsOFoeBAo5d5I67vin+0pnihZANiAAQ4tvN5pnAl
        u3lj47EkaM6UIVbN5dOFUor53TIUN3hhnMyWVxMcJok4JlLnCUCGDTrP68DkWUis
        JoiDdnlgkc+DEYGKvtzAE/Jz1NjMWAFxAssUD4RGJ53F3TZQMH6eHmI=
        -----END PRIVATE KEY-----

        """

    @Test func `bad credentials are status 2 and one sentence`() async throws {
        try await APNsHarness.run { harness in
            let lines = try harness.lines(1...3)
            let otherCurve = try harness.directory.write("p384.p8", Self.otherCurve)
            let rsa = try harness.directory.write(
                "rsa.p8",
                ThrowAwayCA(key: .rsa2048).client(key: .rsa2048).privateKeyPEM()
            )
            let text = try harness.directory.write("text.p8", "no key\n")
            let encrypted = try harness.directory.write(
                "encrypted.p8",
                harness.authority.client().privateKeyPEM(passphrase: "secret")
            )
            let cases: [([String], String)] = [
                (harness.token(p8: "/none.p8"), "does not exist"),
                (harness.token(p8: otherCurve), "P-256"),
                (harness.token(p8: rsa), "P-256"),
                (harness.token(p8: text), "text.p8"),
                (harness.token(p8: encrypted), "is encrypted; a .p8 file is read without passphrase"),
                (harness.token(keyID: "FERRYKEY0"), "key ID"),
                (harness.token(keyID: "FERRYKEY012"), "key ID"),
                (harness.token(keyID: "ferrykey01"), "key ID"),
                (harness.token(teamID: "FERRYTEAM"), "team ID"),
                (harness.token(teamID: "FERRYTEAM12"), "team ID"),
                (["--p8", harness.directory.path("key.p8")], "--p8 needs --key-id and --team-id."),
                (["--p8", harness.directory.path("key.p8"), "--key-id", "FERRYKEY01"], "--p8 needs --team-id."),
                (["--key-id", "FERRYKEY01"], "--key-id needs --p8."),
                ([], "HTTP/2 wants credentials: give --p8, --key-id and --team-id, or --provider-token-file"),
                (harness.token() + harness.certificate, "--p8 excludes --cert and --p12"),
                (harness.token() + ["--passphrase-file", "/none"], "--passphrase-file needs"),
            ]
            for (credentials, words) in cases {
                let output = try await harness.push(lines, as: credentials)
                #expect(output.status == 2, "\(words)")
                #expect(output.messages.contains(words), "\(words): \(output.messages)")
                #expect(output.result == "", "\(words)")
                let dry = try await harness.push(lines, as: credentials, "--dry-run")
                #expect(dry.status == 2, "\(words)")
            }
            #expect(harness.apns.counts.connections == 0)
        }
    }

    @Test func `a dry run reads credentials and lines, and connects to nobody`() async throws {
        try await APNsHarness.run { harness in
            for credentials in [harness.token(), harness.certificate] {
                let output = try await harness.push(harness.lines(1...3), as: credentials, "--dry-run")
                #expect(output.status == 0)
                #expect(output.messages == "nothing was sent: this was a dry run; 3 lines are good\n")
            }
            #expect(harness.apns.counts.connections == 0)
        }
    }

    // MARK: Options

    @Test func `who gives a key and no backend is told which, and a misspelt option is named first`() async throws {
        try await TemporaryDirectory.with { directory in
            let arguments = [
                "push", "/dev/null", "--to", "localhost:1", "--p8", "key.p8", "--key-id", "FERRYKEY01", "--team-id",
                "FERRYTEAM1",
            ]
            let output = try await FerryProgram.run(arguments, in: directory)
            #expect(output.status == 2)
            #expect(
                output.messages
                    == "ferry: --p8, --key-id and --team-id have no meaning with --backend binary; they need --backend http2.\n"
            )
            let misspelt = try await FerryProgram.run(arguments + ["--backed", "http2"], in: directory)
            #expect(misspelt.status == 2)
            #expect(
                misspelt.messages.contains("There is no option '--backed' here; is --backend meant?"),
                "\(misspelt.messages)"
            )
        }
    }

    @Test func `an option that says nothing to the backend is refused with one sentence`() async throws {
        try await TemporaryDirectory.with { directory in
            let noMeaning = "has no meaning with --backend"
            let binary = [
                ["--cache-policy", "hold"], ["--cache-length", "5"], ["--auto-adjust"], ["--no-auto-adjust"],
                ["--cache-limit", "5"], ["--settle-time", "1"], ["--probe-when-held"], ["--proof", "probe"],
            ]
            for option in binary {
                let arguments = ["push", "/dev/null", "--backend", "http2", "--to", "localhost:1"] + option
                let output = try await FerryProgram.run(arguments, in: directory)
                #expect(output.status == 2, "\(option)")
                #expect(
                    output.messages.contains("\(option[0]) \(noMeaning) http2; it needs --backend binary."),
                    "\(output.messages)"
                )
            }
            let http2 = [
                ["--deadline", "1"], ["--attempt-timeout", "1"], ["--streams", "1"], ["--ping-interval", "1"],
                ["--device-interval", "1"], ["--no-circuit-breaker"], ["--proxy", "localhost:1"], ["--p8", "key.p8"],
            ]
            for option in http2 {
                let arguments = ["push", "/dev/null", "--to", "localhost:1"] + option
                let output = try await FerryProgram.run(arguments, in: directory)
                #expect(output.status == 2, "\(option)")
                #expect(
                    output.messages.contains("\(option[0]) \(noMeaning) binary; it needs --backend http2."),
                    "\(output.messages)"
                )
            }
        }
    }

    @Test(
        arguments: [
            (["--deadline", "0"], "--deadline takes seconds, more than 0"),
            (["--attempt-timeout", "-1"], "--attempt-timeout takes seconds, more than 0"),
            (["--ping-interval", "0"], "--ping-interval takes seconds, more than 0"),
            (["--device-interval", "86401"], "--device-interval takes seconds, more than 0"),
            (["--streams", "0"], "--streams takes a whole number, 1 to 100000."),
            (["--streams", "100001"], "--streams takes a whole number, 1 to 100000."),
            (["--connections", "0"], "--connections takes a whole number, 1 to 1000."),
            (["--proxy", "localhost"], "--proxy takes HOST:PORT."),
            (["--proxy-user", "me"], "--proxy-user and --proxy-password-file need --proxy."),
            (["--proxy", "localhost:1", "--proxy-password-file", "p"], "--proxy-password-file needs --proxy-user."),
            (
                ["--proxy", "localhost:1", "--proxy-user", "me", "--proxy-password-file", "/none"],
                "The file of --proxy-password-file does not exist."
            ),
            (["--proxy", "localhost:1", "--proxy-user", "a:b"], "must not hold a colon"),
            (["--config", "/none/node-apn.json"], "The options cannot be read"),
            (["--topic", "a b"], "The topic is not 1 to 255 visible ASCII characters."),
        ]
    )
    func `an option of no use is status 2 and one sentence`(option: [String], words: String) async throws {
        try await APNsHarness.run { harness in
            let output = try await FerryProgram.run(
                ["push", "/dev/null", "--backend", "http2"] + harness.server() + harness.token() + option,
                in: harness.directory
            )
            #expect(output.status == 2)
            #expect(output.messages.contains(words), "\(output.messages)")
            #expect(output.result == "")
        }
    }

    @Test func `a node-apn options object says where to send and with what, as far as it means something here`()
        async throws
    {
        try await APNsHarness.run { harness in
            let object = """
                {"cert":"\(harness.directory.path("client.pem"))","key":"\(harness.directory.path("client-key.pem"))",
                "ca":"\(harness.directory.path("ca.pem"))","address":"gateway.example","maxConnections":2,"cacheLength":5,
                "connectionTimeout":0,"interval":60,"production":false}
                """
            let config = try harness.directory.write("config.json", object)
            let arguments = ["push", "/dev/null", "--backend", "http2", "--config", config]
            let output = try await FerryProgram.run(arguments + ["--dry-run"], in: harness.directory)
            #expect(output.status == 0, "\(output.messages)")
            for remark in [
                "production false: as --sandbox", "maxConnections 2: as --connections 2",
                "cacheLength 5: of the binary protocol",
                "connectionTimeout 0: over HTTP/2 connections stay open, as Apple asks",
                "interval 60: over HTTP/2 status 410 in --events says that a device is gone",
                "address: of the binary protocol: name a server of HTTP/2 with --to",
            ] {
                #expect(output.messages.contains(remark), "\(remark): \(output.messages)")
            }
            // The command line counts in place of the object: the simulated server, and its provider token.
            let sent = try await FerryProgram.run(arguments + harness.server() + harness.token(), in: harness.directory)
            #expect(sent.status == 0, "\(sent.messages)")
            #expect(sent.messages.contains("not used, --p8 of the command line counts"))
        }
    }

    @Test func `where to send has to be said`() async throws {
        try await APNsHarness.run { harness in
            let output = try await FerryProgram.run(
                ["push", "/dev/null", "--backend", "http2"] + harness.token(),
                in: harness.directory
            )
            #expect(output.status == 2)
            #expect(output.messages.contains("Say where to send: --to HOST:PORT, --production or --sandbox."))
        }
    }

    @Test func `Apple's servers are those of HTTP/2`() async throws {
        try await APNsHarness.run { harness in
            for option in ["--production", "--sandbox"] {
                let output = try await FerryProgram.run(
                    ["push", "/dev/null", "--backend", "http2", "--dry-run", option] + harness.token(),
                    in: harness.directory
                )
                #expect(output.status == 0, "\(output.messages)")
            }
        }
    }
}
