import Ferry
import FerryTesting
import Foundation
import Testing

/// `ferry push --tokens FILE --payload FILE`: one payload to many devices.
@Suite(.timeLimit(.minutes(10))) struct PushTokensTests {
    private static let payload = "\n  {\"aps\": {\"alert\": \"Hell\u{f6}\"}}\r\n"

    private func push(
        _ harness: APNsHarness,
        _ tokens: String,
        payload: String,
        topic: String? = APNsHarness.topic,
        _ more: String...
    ) async throws -> FerryProgram.Output {
        let file = try harness.directory.write("payload.json", payload)
        return try await FerryProgram.run(
            ["push", "--tokens", tokens, "--payload", file, "--backend", "http2", "--json"] + APNsHarness.patience
                + harness.server() + harness.token() + (topic.map { ["--topic", $0] } ?? []) + more,
            in: harness.directory
        )
    }

    @Test func `one payload goes to each device token as it stands`() async throws {
        try await APNsHarness.run { harness in
            let text =
                "\u{feff}\(PushHarness.token(1))\r\n\n<\(PushHarness.token(2))>\n  \(PushHarness.token(3))  \nzz\n00f\n"
            let tokens = try harness.directory.write("tokens", text)
            let output = try await self.push(harness, tokens, payload: Self.payload)
            #expect(output.status == 1)
            #expect(output.number("submitted") == 3)
            #expect(output.number("badLines") == 2)
            #expect(output.messages.contains("\(tokens):5: a device token has only hex digits"), "\(output.messages)")
            #expect(output.messages.contains("\(tokens):6: the device token has an odd number"), "\(output.messages)")
            let requests = harness.recorder.requests
            #expect(Set(requests.map(\.payload)) == [Array(#"{"aps": {"alert": "Hell\#u{f6}"}}"#.utf8)])
            #expect(Set(requests.map(\.token)) == (try APNsHarness.tokens(1...3)))
        }
    }

    @Test func `each token has its event`() async throws {
        try await APNsHarness.run { harness in
            let tokens = try harness.directory.write("tokens", (1...500).map { PushHarness.token($0) + "\n" }.joined())
            let output = try await self.push(harness, tokens, payload: Self.payload, "--events", "-")
            #expect(output.status == 0)
            let events = output.result.split(separator: "\n").sorted()
            #expect(events.count == 500)
            #expect(events.first?.hasPrefix(#"{"token":"\#(PushHarness.token(1))","apnsId":""#) == true)
        }
    }

    @Test func `a payload that no device could get is named once, and nothing is sent`() async throws {
        try await APNsHarness.run { harness in
            let tokens = try harness.directory.write("tokens", (1...5).map { PushHarness.token($0) + "\n" }.joined())
            let long = #"{"a":"\#(String(repeating: "x", count: 4096))"}"#
            let cases = [
                ("[1]", "payload.json: the payload is not a JSON object"), ("", "payload.json: the payload is empty"),
                (long, "payload.json: the payload has 4104 bytes; the limit is 4096"),
            ]
            for (payload, words) in cases {
                let output = try await self.push(harness, tokens, payload: payload)
                #expect(output.status == 2)
                #expect(output.messages.contains(words), "\(output.messages)")
                #expect(output.messages.split(separator: "\n").count == 1, "\(output.messages)")
            }
            let output = try await self.push(harness, tokens, payload: Self.payload, topic: nil)
            #expect(output.status == 2)
            #expect(output.messages == "ferry: --tokens needs --topic here, the bundle ID of the app.\n")
            #expect(harness.apns.counts.connections == 0)
        }
    }

    @Test func `a file of lines is not a file of tokens, and its cure is named`() async throws {
        try await APNsHarness.run { harness in
            let lines = try harness.lines(1...3)
            let output = try await self.push(harness, lines, payload: Self.payload, "--dry-run")
            #expect(output.status == 2)
            #expect(
                output.messages.hasPrefix(
                    "\(lines):1: each line is one device token; jq -r .token FILE writes such lines, and --tokens - reads them\n"
                ),
                "\(output.messages)"
            )
            #expect(output.messages.contains("0 lines are good, 1 is bad"), "\(output.messages)")
        }
    }

    @Test(
        arguments: [
            (["--tokens", "a"], "--tokens needs --payload"), (["--payload", "a"], "--payload needs --tokens"),
            (["lines", "--tokens", "a", "--payload", "b"], "Give a file of lines, or --tokens and --payload."),
            (["--tokens", "a", "--payload", "/none/payload"], "The payload cannot be read"),
        ]
    )
    func `options that do not belong together are refused`(options: [String], words: String) async throws {
        try await APNsHarness.run { harness in
            let output = try await FerryProgram.run(
                ["push"] + options + ["--backend", "http2", "--topic", "com.example.ferry"] + harness.server()
                    + harness.token(),
                in: harness.directory
            )
            #expect(output.status == 2)
            #expect(output.messages.contains(words), "\(output.messages)")
        }
    }
}
