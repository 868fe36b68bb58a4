import Ferry
import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct PushDryRunTests {
    private static let bad = #"{"token":"abc","payload":{}}"#

    @Test func `a dry run checks every line as a run does, and connects to nobody`() async throws {
        try await APNsHarness.run { harness in
            let voip = #"{"token":"\#(PushHarness.token(9))","payload":{},"topic":"com.a","pushType":"voip"}"#
            let text = [PushHarness.line(1), Self.bad, "", PushHarness.line(2), voip].joined(separator: "\n")
            let file = try harness.directory.write("lines", text)
            let dry = try await harness.push(file, "--dry-run")
            #expect(dry.status == 1)
            #expect(dry.result == "")
            #expect(harness.apns.counts.connections == 0)
            let run = try await harness.push(file)
            let named = run.messages.split(separator: "\n").filter { $0.hasPrefix(file) }
            #expect(named.count == 2)
            #expect(
                dry.messages.split(separator: "\n")
                    == named + ["nothing was sent: this was a dry run; 2 lines are good, 2 are bad"]
            )
        }
    }

    @Test func `a bad line ends a strict dry run, and what cannot be read is status 2`() async throws {
        try await APNsHarness.run { harness in
            let file = try harness.directory.write("lines", "\(Self.bad)\n\(PushHarness.line(1))\n")
            let strict = try await harness.push(file, "--dry-run", "--strict")
            #expect(strict.status == 2)
            #expect(strict.messages.hasSuffix("ferry: Line 1 is bad; nothing after it was read.\n"))
            for path in ["/none/lines", harness.directory.path("")] {
                let output = try await harness.push(path, "--dry-run")
                #expect(output.status == 2)
                #expect(output.messages.contains("The input cannot be read"), "\(output.messages)")
            }
        }
    }

    @Test func `what the provider would reject by itself is status 1`() async throws {
        try await PushHarness.run { harness in
            let text = String(repeating: "x", count: 2048)
            let line = #"{"token":"\#(PushHarness.token(1))","payload":{"a":"\#(text)"}}"#
            let file = try harness.directory.write("lines", "\(line)\n\(PushHarness.line(2))\n")
            let output = try await harness.push(harness.arguments(file), "--dry-run")
            #expect(output.status == 1)
            #expect(
                output.messages.hasPrefix(
                    "\(file):1: the payload has 2056 bytes; the limit is 2048; it is not sent\n"
                )
            )
            #expect(
                output.messages.hasSuffix(
                    "nothing was sent: this was a dry run; 1 line is good, 1 would be rejected\n"
                )
            )
        }
    }

    @Test func `a short device token is warned of once, and sent`() async throws {
        try await PushHarness.run { harness in
            let lines = [PushHarness.line(1)] + ["00fe", "00fd"].map { #"{"token":"\#($0)","payload":{"aps":{}}}"# }
            let file = try harness.directory.write("lines", lines.joined(separator: "\n"))
            let output = try await harness.push(harness.arguments(file))
            #expect(output.status == 0)
            #expect(
                output.messages == "\(file):2: warning: the device token has 2 bytes, and those of APNs have 32; "
                    + "this is said only once\n"
            )
            #expect(harness.recorder.notifications.count == 3)
        }
    }

    @Test(arguments: [
        ("[" + PushHarness.line(1) + "]\n", "jq -c '.[]' FILE"),
        ("[\n\(PushHarness.line(1)),\n\(PushHarness.line(2))\n]\n", "jq -c '.[]' FILE"),
        ("{\n  \"token\": \"00fc\",\n  \"payload\": {}\n}\n", "jq -c . FILE"),
        ("{\"token\": \"00fc\",\n\"payload\": {}}\n\(PushHarness.line(1))\n", "jq -c . FILE"),
        ("\u{feff}[\n\(PushHarness.line(1))\n]\n", "jq -c '.[]' FILE"),
    ])
    func `of JSON that stands in no lines nothing is sent, and one sentence says what makes lines of it`(
        text: String,
        cure: String
    ) async throws {
        try await PushHarness.run { harness in
            let file = try harness.directory.write("lines", text)
            let dry = try await harness.push(harness.arguments(file), "--dry-run")
            #expect(dry.status == 2)
            let words = "\(file):1: each notification is one object on one line; \(cure)"
            #expect(dry.messages.hasPrefix(words), "\(dry.messages)")
            #expect(dry.messages.contains("0 lines are good, 1 is bad"), "\(dry.messages)")
            let output = try await harness.push(harness.arguments(file))
            #expect(output.status == 2)
            #expect(output.messages.hasPrefix(words), "\(output.messages)")
            #expect(
                output.messages.hasSuffix("ferry: Line 1 is bad; nothing after it was sent.\n"),
                "\(output.messages)"
            )
            #expect(output.number("submitted") == 0)
            #expect(harness.recorder.notifications.isEmpty)
        }
    }

    @Test func `a payload without content is warned of once, and sent; those of push types that need none are not`()
        async throws
    {
        try await PushHarness.run { harness in
            let token = PushHarness.token(1)
            let lines = [
                PushHarness.line(1), #"{"token":"\#(token)","payload":{"mdm":"x"}}"#,
                #"{"token":"\#(token)","payload":{"\u0061ps":{}}}"#,
                #"{"token":"\#(token)","payload":{"a":1},"pushType":"voip"}"#,
                #"{"token":"\#(token)","payload":{"a":1},"topic":"com.example.app.voip"}"#,
                #"{"token":"\#(token)","payload":{"message":{"aps":1}}}"#, #"{"token":"\#(token)","payload":{"a":1}}"#,
            ]
            let file = try harness.directory.write("lines", lines.joined(separator: "\n"))
            let output = try await harness.push(harness.arguments(file), "--dry-run")
            #expect(output.status == 0)
            #expect(
                output.messages.hasPrefix(
                    "\(file):7: warning: the payload has neither 'aps' nor 'mdm', so the device shows nothing of it; this is said "
                        + "only once\n"
                ),
                "\(output.messages)"
            )
        }
    }

    @Test func `lines with a comma after each object, and UTF-16, are named once with their cure`() async throws {
        try await PushHarness.run { harness in
            let line = PushHarness.line(1)
            let commas = try harness.directory.write("commas", "\(line),\n\(line),\n\(line),\n")
            let wide = try harness.directory.write("wide", Data("\(line)\n\(line)\n".utf16.flatMap { [UInt8($0), 0] }))
            let cases = [
                (commas, "each notification is one object on one line, without a comma after it; sed "),
                (wide, "the text is UTF-16, and lines are read as UTF-8; iconv -f UTF-16 -t UTF-8 FILE"),
            ]
            for (file, words) in cases {
                let output = try await harness.push(harness.arguments(file), "--dry-run")
                #expect(output.status == 2)
                #expect(output.messages.hasPrefix("\(file):1: \(words)"), "\(output.messages)")
                #expect(output.messages.split(separator: "\n").count == 3, "\(output.messages)")
            }
        }
    }

    @Test func `tokens as NSData shows them are taken, and an expiration from now is not`() async throws {
        try await PushHarness.run { harness in
            let token = "<" + String(repeating: "00fc13ad ", count: 8) + ">"
            let text = """
                {"token":"\(token)","payload":{"aps":{}}}
                {"token":"\(PushHarness.token(1))","payload":{},"expiration":3600}
                {"token":"\(PushHarness.token(1))","payload":{},"expiration":0}
                """
            let file = try harness.directory.write("lines", text)
            let output = try await harness.push(harness.arguments(file), "--dry-run")
            #expect(output.messages.contains(":2: the expiration 3600 is a time before 2001"))
            #expect(output.messages.hasSuffix("2 lines are good, 1 is bad\n"), "\(output.messages)")
        }
    }

    @Test func `credentials of another kind are named with the option for them`() async throws {
        try await APNsHarness.run { harness in
            let key = harness.directory.path("key.p8")
            let certificate = harness.directory.path("client.pem")
            let cases = [
                (["--cert", key], "holds a private key and not a certificate: a .p8 file of Apple is the key"),
                (["--p12", key], "holds a private key and not a PKCS#12 archive: a .p8 file of Apple"),
                (["--p12", certificate], "holds a certificate and not a PKCS#12 archive: give it with --cert"),
                (
                    ["--cert", certificate],
                    "holds a certificate and not a private key: give the file of its key with --key"
                ),
                (["--cert", key, "--key", certificate], "client.pem the certificate: exchange them"),
            ]
            for (options, words) in cases {
                let output = try await FerryProgram.run(
                    ["push", "/dev/null", "--to", "localhost:1", "--dry-run"] + options,
                    in: harness.directory
                )
                #expect(output.status == 2)
                #expect(output.messages.contains(words), "\(output.messages)")
            }
        }
    }
}
