import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import Testing

/// Tests of `ferry push` with a server of the other protocol.
@Suite(.timeLimit(.minutes(10))) struct PushWrongProtocolTests {
    @Test func `a server of HTTP/2 is named to who sends over the binary protocol`() async throws {
        try await APNsHarness.run { harness in
            let output = try await FerryProgram.run(
                ["push", harness.lines(1...3), "--json"] + harness.server() + harness.certificate,
                in: harness.directory
            )
            #expect(output.status == 3)
            #expect((output.summary["accepted"] as? [String: Int])?.values.allSatisfy { $0 == 0 } == true)
            #expect(output.settled == 3)
            #expect(output.messages.contains("it speaks HTTP/2."), "\(output.messages)")
            #expect(output.messages.contains("--backend http2"), "\(output.messages)")
        }
    }

    @Test(arguments: [true, false])
    func `a feedback service is named to who sends to its port, whatever it says`(hasList: Bool) async throws {
        try await PushHarness.run { harness in
            let credentials = try TestCredentials(authority: harness.authority, topic: "com.example.ferry", key: .p256)
            var configuration = SimulatedFeedback.Configuration(credentials: credentials)
            let tuple = FeedbackScript.Tuple(time: .now, token: [UInt8](repeating: 7, count: 32))
            configuration.script = FeedbackScript(hasList ? [tuple] : [])
            let service = try await SimulatedFeedback.start(configuration)
            let output = try await harness.push(harness.arguments(harness.lines(1...3), port: service.port))
            await service.stop()
            #expect(output.status == (hasList ? 3 : 1))
            #expect(output.number(hasList ? "undelivered" : "uncertain") == 3)
            #expect(output.messages.contains("feedback service"), "\(output.messages)")
            #expect(output.messages.contains("ferry feedback"), "\(output.messages)")
            #expect(output.messages.contains(hasList ? "2195" : "--backend http2"), "\(output.messages)")
        }
    }

    @Test func `a binary gateway is named to who sends over HTTP/2, without a limit of attempts`() async throws {
        try await PushHarness.run { harness in
            let arguments = try harness.arguments(harness.lines(1...3)).filter { $0 != "--settle-time" && $0 != "1" }
            let output = try await harness.push(
                arguments + ["--backend", "http2", "--topic", "com.example.ferry", "--connection-retry-limit", "0"]
            )
            #expect(output.status == 3)
            #expect(output.number("undelivered") == 3)
            #expect(output.messages.contains("but not HTTP/2"), "\(output.messages)")
            #expect(output.messages.contains("--backend binary"), "\(output.messages)")
        }
    }

    @Test func `a binary gateway wants a certificate of who has provider tokens, and is named`() async throws {
        try await APNsHarness.run { tokens in
            try await PushHarness.run { harness in
                let output = try await harness.push(
                    [
                        "push", harness.lines(1...3), "--backend", "http2", "--topic", "com.example.ferry", "--to",
                        "localhost:\(harness.gateway.port)", "--ca", harness.directory.path("ca.pem"),
                    ] + tokens.token()
                )
                #expect(output.status == 3)
                #expect(
                    output.messages.contains("not HTTP/2 (\"h2\" by ALPN), and wants a client cert"),
                    "\(output.messages)"
                )
                #expect(output.messages.contains("--backend binary"), "\(output.messages)")
            }
        }
    }

    @Test func `hosts of Apple are known by their protocol`() async throws {
        try await APNsHarness.run { harness in
            let cases: [([String], String)] = [
                (["--to", "api.push.apple.com:443"] + harness.certificate, "send to it with --backend http2."),
                (
                    ["--backend", "http2", "--to", "gateway.push.apple.com:2195"] + harness.token(),
                    "use api.push.apple.com."
                ),
            ]
            for (arguments, words) in cases {
                let output = try await FerryProgram.run(["push", "/dev/null"] + arguments, in: harness.directory)
                #expect(output.status == 2)
                #expect(output.messages.contains(words), "\(output.messages)")
            }
        }
    }
}
