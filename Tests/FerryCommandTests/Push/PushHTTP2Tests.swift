import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct PushHTTP2Tests {
    @Test func `everything accepted is status 0, proved, and every payload as it stood`() async throws {
        try await APNsHarness.run { harness in
            let events = harness.directory.path("events")
            let output = try await harness.push(harness.lines(1...500), "--events", events)
            #expect(output.status == 0)
            #expect(output.number("submitted") == 500)
            #expect((output.summary["accepted"] as? [String: Int])?["confirmed"] == 500)
            #expect(output.messages == "")
            let arrived = harness.recorder.requests
            #expect(Set(arrived.map(\.token.hex)) == Set((1...500).map(PushHarness.token)))
            #expect(arrived.count == 500)
            #expect(arrived.contains { String(decoding: $0.payload, as: UTF8.self) == #"{"aps":{"badge":500}}"# })
            #expect(Set(arrived.map(\.accepted.topic)) == [APNsHarness.topic])
            let lines = try harness.directory.read("events").split(separator: "\n")
            #expect(Set(lines).count == 500)
            let ids = Set(arrived.compactMap(\.accepted.apnsID))
            #expect(ids.count == 500)
            let named = lines.compactMap { line in
                let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                return object?["apnsId"] as? String
            }
            #expect(Set(named) == ids)
        }
    }

    @Test func `a certificate does as well, and fields of a line reach APNs`() async throws {
        try await APNsHarness.run { harness in
            let line =
                #"{"token":"00ff","payload":{"aps":{}},"pushType":"voip","priority":5,"expiration":4000000000,"#
                + #""collapseId":"c","apnsId":"EABEAE54-14A8-11E5-B60B-1697F925EC7B"}"#
            let file = try harness.directory.write("lines", line + "\n" + #"{"token":"00fe","payload":{}}"#)
            let output = try await harness.push(file, as: harness.certificate)
            #expect(output.status == 0, "\(output.messages)")
            let first = try #require(harness.recorder.requests.first { $0.token.hex == "00ff" }?.accepted)
            #expect(first.topic == "com.example.ferry.voip")
            #expect(first.pushType == "voip")
            #expect(first.priority == 5)
            #expect(first.expiration == 4_000_000_000)
            #expect(first.collapseID == "c")
            #expect(first.apnsID == "eabeae54-14a8-11e5-b60b-1697f925ec7b")
            let second = try #require(harness.recorder.requests.first { $0.token.hex == "00fe" }?.accepted)
            #expect(second.topic == "com.example.ferry")
        }
    }

    @Test func `why some were rejected is said to people, with and without events`() async throws {
        let rules = [
            HTTP2Rule(tokens: try APNsHarness.tokens([3, 70])),
            HTTP2Rule(tokens: try APNsHarness.tokens([5]), status: 410),
        ]
        try await APNsHarness.run(rules: rules) { harness in
            let arguments =
                try ["push", harness.lines(1...100), "--backend", "http2", "--topic", APNsHarness.topic]
                + APNsHarness.patience
                + harness.server()
                + harness.token()
            let plain = try await FerryProgram.run(arguments, in: harness.directory)
            #expect(plain.status == 1)
            let causes = plain.messages.split(separator: "\n")
            #expect(causes.count == 2)
            #expect(causes.first?.hasPrefix("2  rejected: BadDeviceToken (400). The device token is invalid") == true)
            #expect(causes.last?.hasPrefix("1  rejected: Unregistered (410). ") == true)
            #expect(!plain.result.contains("BadDeviceToken"))
            let events = ["--events", harness.directory.path("events")]
            #expect(try await FerryProgram.run(arguments + events, in: harness.directory).messages == plain.messages)
            #expect(try await FerryProgram.run(arguments + ["--json"], in: harness.directory).messages == "")
        }
    }

    @Test(arguments: [
        (Reason.expiredProviderToken, "look at the clock of the machine that made it"),
        (.tooManyProviderTokenUpdates, "Nothing is sent for 1200 s."),
        (.invalidProviderToken, "check key, key ID and team ID"),
    ])
    func `a provider token that is always refused is status 3 and a sentence`(
        reason: Reason,
        sentence: String
    ) async throws {
        try await APNsHarness.run(rules: [HTTP2Rule(prefix: [], reason: reason)]) { harness in
            let output = try await harness.push(harness.lines(1...20))
            #expect(output.status == 3)
            #expect(output.messages.contains(sentence), "\(output.messages)")
        }
    }

    @Test func `a reset names its error code in the events, and an answer Apple's other identifier`() async throws {
        var script = HTTP2Script(rules: [
            HTTP2Rule(tokens: try APNsHarness.tokens([3]), action: .refuseStream, errorCode: 2),
            HTTP2Rule(tokens: try APNsHarness.tokens([4]), action: .refuseStream, errorCode: 77),
        ])
        script.hasUniqueID = true
        try await APNsHarness.run(script) { harness in
            let output = try await harness.push(harness.lines(1...5), "--events", harness.directory.path("events"))
            #expect(output.status == 1)
            let lines = try harness.directory.read("events").split(separator: "\n")
            let resets = lines.filter { $0.contains(#""outcome":"uncertain","reason":"reset""#) }
            #expect(resets.contains { $0.hasSuffix(#","errorCode":2,"error":"INTERNAL_ERROR"}"#) })
            #expect(resets.contains { $0.hasSuffix(#","errorCode":77}"#) })
            #expect(lines.count { $0.contains(#""apnsUniqueId":""#) } == 3)
        }
    }

    @Test func `rejected tokens are status 1, with reason and time in the events`() async throws {
        let gone = try APNsHarness.tokens([3, 70])
        let rules = [HTTP2Rule(tokens: gone, status: 410, timestamp: Date(timeIntervalSince1970: 1_700_000_000.123))]
        try await APNsHarness.run(rules: rules) { harness in
            let output = try await harness.push(harness.lines(1...100), "--events", harness.directory.path("events"))
            #expect(output.status == 1)
            #expect(output.number("rejected") == 2)
            #expect(output.settled == 100)
            #expect(harness.recorder.requests.count == 98)
            let words =
                #""outcome":"rejected","reason":"Unregistered","status":410,"timestamp":1700000000123,"origin":"apns"}"#
            let lines = try harness.directory.read("events").split(separator: "\n")
            #expect(lines.count { $0.hasSuffix(words) } == 2)
        }
    }

    @Test func `GOAWAYs lose nothing and double nothing`() async throws {
        try await APNsHarness.run(rules: [.goAway(every: 300, lastStream: .current)]) { harness in
            let output = try await harness.push(harness.lines(1...2000))
            #expect(output.status == 0, "\(output.messages)")
            #expect(output.number("uncertain") == 0)
            #expect(harness.apns.counts.goAways >= 6)
            #expect(harness.recorder.counts.count == 2000)
            #expect(harness.recorder.duplicates.isEmpty)
        }
    }

    @Test func `silence ends as uncertain when the time for an answer is over`() async throws {
        let silent = HTTP2Rule(tokens: try APNsHarness.tokens([2]), action: .silence)
        try await APNsHarness.run(rules: [silent]) { harness in
            let events = harness.directory.path("events")
            let output = try await harness.push(
                harness.lines(1...3),
                "--attempt-timeout",
                "10",
                "--events",
                events
            )
            #expect(output.status == 1)
            #expect(output.number("uncertain") == 1)
            #expect(output.settled == 3)
            #expect(try harness.directory.read("events").contains(#""outcome":"uncertain","reason":"noAnswer""#))
        }
    }

    @Test func `what is sent again and again without an answer ends at the deadline`() async throws {
        let silent = HTTP2Rule(tokens: try APNsHarness.tokens([2]), action: .silence)
        try await APNsHarness.run(rules: [silent]) { harness in
            let output = try await harness.push(
                harness.lines(1...3),
                "--attempt-timeout",
                "0.2",
                "--deadline",
                "0.5",
                "--on-unknown",
                "resend"
            )
            // The time until the end decides how far the run comes, so only these facts are certain.
            #expect(output.status != 0)
            #expect(output.settled == 3)
        }
    }

    // MARK: Credentials that are refused

    @Test func `a key that APNs does not know is status 3, however few lines there are`() async throws {
        try await APNsHarness.run { harness in
            let stranger = try harness.directory.write("stranger.p8", ES256Key.generate().p8())
            for count in [3, 300] {
                let output = try await harness.push(harness.lines(1...count), as: harness.token(p8: stranger))
                #expect(output.status == 3, "\(count)")
                #expect(output.messages.contains("InvalidProviderToken"), "\(output.messages)")
                #expect(output.messages.contains("check key, key ID and team ID"), "\(output.messages)")
                #expect(output.messages.split(separator: "\n").count == 1)
                #expect(output.settled == output.number("submitted"))
                #expect((output.number("rejected") ?? 0) > 0)
            }
            #expect(harness.recorder.requests.isEmpty)
        }
    }

    @Test func `one bad push among good ones is not taken for refused credentials`() async throws {
        let rules = [HTTP2Rule(tokens: try APNsHarness.tokens([2]), reason: .badCertificateEnvironment)]
        try await APNsHarness.run(rules: rules) { harness in
            let output = try await harness.push(harness.lines(1...3))
            #expect(output.status == 1)
            #expect(output.messages == "")
        }
    }

    @Test func `a certificate that is refused in the handshake is status 3`() async throws {
        try await APNsHarness.run { harness in
            let stranger = try ThrowAwayCA().client()
            let certificate = try harness.directory.write("stranger.pem", stranger.certificateChainPEM)
            let key = try harness.directory.write("stranger-key.pem", stranger.privateKeyPEM())
            for version in ["1.2", "1.3"] {
                let output = try await harness.push(
                    harness.lines(1...3),
                    as: ["--cert", certificate, "--key", key, "--tls-max", version]
                )
                #expect(output.status == 3, "\(version)")
                #expect(output.messages.contains("refused the client certificate"), "\(output.messages)")
                #expect(output.messages.split(separator: "\n").count == 1)
                #expect(output.settled == 3)
            }
        }
    }

    @Test func `a burst of bad tokens pauses sending and does not end the run`() async throws {
        // The good tokens come first, so that the limit of streams has been raised when the bad ones follow.
        let bad = try APNsHarness.tokens(11...115)
        try await APNsHarness.run(rules: [.reject(bad)]) { harness in
            let lines = try harness.lines(1...200)
            let output = try await harness.push(lines, "--streams", "10", "--verbose")
            #expect(output.status == 1)
            #expect(output.number("rejected") == 105)
            #expect(output.settled == 200)
            #expect(output.messages.contains("sending pauses"))
            let reckless = try await harness.push(lines, "--streams", "10", "--verbose", "--no-circuit-breaker")
            #expect(reckless.settled == 200)
            #expect(!reckless.messages.contains("sending pauses"))
        }
    }

    // MARK: No connection

    @Test func `no connection is status 3, one sentence, and a summary that adds up`() async throws {
        try await APNsHarness.run { harness in
            let lines = try harness.lines(1...3)
            _ = try harness.directory.write("other.pem", ThrowAwayCA().certificatePEM)
            let free = try await SimulatedAPNs.start(.init(credentials: TestCredentials()))
            await free.stop()
            let expect = PushCommandTests.expectNoConnection
            let limit = ["--connection-retry-limit", "1"]
            expect(try await harness.push(lines, port: free.port, limit[0], limit[1]), "refused")
            expect(try await harness.push(lines, "--ca", harness.directory.path("other.pem")), "--ca")
            expect(try await harness.push(lines, "--server-name", "other.example"), "--server-name")
            let proxy = "localhost:\(free.port)"
            expect(try await harness.push(lines, "--proxy", proxy, limit[0], limit[1]), "No connection to the proxy")
        }
    }

    @Test func `what speaks TLS and no HTTP/2 is named`() async throws {
        try await APNsHarness.run { harness in
            let gateway = try await SimulatedGateway.start(.init(credentials: harness.credentials))
            let output = try await harness.push(harness.lines(1...3), port: gateway.port, as: harness.certificate)
            await gateway.stop()
            PushCommandTests.expectNoConnection(output, "speaks TLS, but not HTTP/2")
        }
    }

    @Test func `a silent server is status 3 within the time for connecting`() async throws {
        var script = HTTP2Script()
        script.handshake = .silent
        try await APNsHarness.run(script) { harness in
            let output = try await harness.push(
                harness.lines(1...3),
                "--connect-timeout",
                "0.2",
                "--connection-retry-limit",
                "1"
            )
            PushCommandTests.expectNoConnection(output, "did not answer in time")
        }
    }

    @Test func `a proxy that says no is named, and what it wants`() async throws {
        try await APNsHarness.run { harness in
            let doctor = DoctorHarness(directory: harness.directory, authority: harness.authority)
            let answer = Array("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n".utf8)
            try await doctor.withServer({ [SpeakingHandler(answer)] }) { port in
                let lines = try harness.lines(1...3)
                let limit = ["--connection-retry-limit", "1"]
                let nobody = try await harness.push(lines, "--proxy", "localhost:\(port)", limit[0], limit[1])
                PushCommandTests.expectNoConnection(nobody, "wants a user name and a password")
                let password = try harness.directory.write("password.txt", "geheim\n")
                let somebody = try await harness.push(
                    lines,
                    "--proxy",
                    "localhost:\(port)",
                    "--proxy-user",
                    "me",
                    "--proxy-password-file",
                    password,
                    limit[0],
                    limit[1]
                )
                PushCommandTests.expectNoConnection(somebody, "refused the user name and the password")
                #expect(!somebody.messages.contains("geheim"))
            }
        }
    }

    @Test func `a token that was made elsewhere sends, from a file or a pipe`() async throws {
        try await APNsHarness.run { harness in
            let token = try await FerryProgram.run(["token"] + harness.token(), in: harness.directory).result
            let file = try harness.directory.write("token.jwt", token)
            let output = try await harness.push(harness.lines(1...20), as: ["--provider-token-file", file])
            #expect(output.status == 0, "\(output.messages)")
            #expect(output.messages == "")
            #expect(harness.recorder.requests.count == 20)
            let piped = try await FerryProgram.run(
                ["push", harness.lines(21...30), "--backend", "http2", "--topic", APNsHarness.topic] + harness.server()
                    + ["--provider-token-file", "/dev/stdin"],
                in: harness.directory,
                shell: #"cat '\#(file)' | exec "$@""#
            )
            #expect(piped.status == 0, "\(piped.messages)")
            #expect(harness.recorder.requests.count == 30)
        }
    }

    @Test func `a run goes on when APNs refuses a token and the next one comes later`() async throws {
        let refusal = HTTP2Rule(after: 10, times: 1, reason: .expiredProviderToken)
        try await APNsHarness.run(rules: [refusal]) { harness in
            let now = UInt32(clamping: Int(Date().timeIntervalSince1970))
            let source = { try harness.tokenSource() }
            let old = try source().issue(now: .now(), epochSeconds: now - 1800).token
            let next = try source().issue(now: .now(), epochSeconds: now).token
            let file = try harness.directory.write("token.jwt", old)
            let run = Task { try await harness.push(harness.lines(1...20), as: ["--provider-token-file", file]) }
            #expect(try await eventually { harness.recorder.requests.count >= 10 })
            _ = try harness.directory.write("token.jwt", next)
            let output = try await run.value
            #expect(output.status == 0, "\(output.messages)")
            #expect(harness.recorder.requests.count == 20)
            #expect(!output.messages.contains("eyJ"))
        }
    }

    @Test func `a first token that APNs refuses ends the run, because another may never come`() async throws {
        let refusal = HTTP2Rule(prefix: [], reason: .expiredProviderToken)
        try await APNsHarness.run(rules: [refusal]) { harness in
            let token = try harness.tokenSource().token()
            let file = try harness.directory.write("token.jwt", token)
            let output = try await harness.push(harness.lines(1...20), as: ["--provider-token-file", file])
            #expect(output.status == 3)
            #expect(output.messages.contains("it is too old or a clock is wrong"), "\(output.messages)")
        }
    }

    @Test func `a file without a good token is status 2 and one sentence, before anything is sent`() async throws {
        try await APNsHarness.run { harness in
            let token = try await FerryProgram.run(["token"] + harness.token(), in: harness.directory).result
            let old = try ProviderTokenSource(key: .generate(), keyID: "ABCDE12345", teamID: "FGHIJ67890")
                .issue(now: .now(), epochSeconds: 1_700_000_000).token
            let cases: [(String, String)] = [
                ("", "There is no provider token in "), (String(token.prefix(100)), "There is no provider token in "),
                (old, "s ago by this machine's clock, and APNs takes none that is older than an hour."),
            ]
            for (text, words) in cases {
                let file = try harness.directory.write("token.jwt", text)
                let output = try await harness.push(harness.lines(1...2), as: ["--provider-token-file", file])
                #expect(output.status == 2)
                #expect(output.messages.contains(words), "\(output.messages)")
                #expect(!output.messages.contains("eyJ"))
            }
            let usage: [([String], String)] = [
                (["--provider-token-file", "/none/t.jwt"], "The file /none/t.jwt does not exist."),
                (["--provider-token-file", "t.jwt"] + harness.token(), "--provider-token-file excludes --p8"),
                (["--provider-token-file", "t.jwt"] + harness.certificate, "--provider-token-file excludes --cert"),
            ]
            for (credentials, words) in usage {
                let output = try await harness.push(harness.lines(1...2), as: credentials)
                #expect(output.status == 2)
                #expect(output.messages.contains(words), "\(output.messages)")
            }
            #expect(harness.apns.counts.connections == 0)
        }
    }
}
