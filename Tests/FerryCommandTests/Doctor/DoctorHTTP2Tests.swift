import Ferry
import FerryOpenSSL
import FerryTesting
import NIOCore
import Testing

@testable import FerryCommand

@Suite(.timeLimit(.minutes(10))) struct DoctorHTTP2Tests {
    /// Calls `body` with the port of a simulated APNs and the options that name its token key.
    static func withAPNs(
        _ change: (inout SimulatedAPNs.Configuration) -> Void = { _ in },
        _ body: (DoctorHarness, Int, [String]) async throws -> Void
    ) async throws {
        try await DoctorHarness.run { harness in
            let key = try ES256Key.generate()
            let credentials = TestCredentials(
                trustRoots: harness.authority.trustRoots,
                server: try harness.authority.server(dnsNames: ["localhost"]),
                client: try harness.authority.client(),
                tokenKey: key
            )
            var configuration = SimulatedAPNs.Configuration(credentials: credentials)
            change(&configuration)
            let apns = try await SimulatedAPNs.start(configuration)
            let token = [
                "--p8", try harness.secret("key.p8", key.p8()), "--key-id", "FERRYKEY01", "--team-id", "FERRYTEAM1",
            ]
            do {
                try await body(harness, apns.port, token)
            } catch {
                await apns.stop()
                throw error
            }
            await apns.stop()
        }
    }

    @Test func `a good server says h2, and how many requests it allows`() async throws {
        try await Self.withAPNs { harness, port, token in
            let report = try await harness.doctor(["localhost:\(port)", "--http2"] + harness.ca + token)
            #expect(report.status == 0)
            #expect(report.problems.map(\.problem) == [])
            let sentences = report.findings.map(\.sentence)
            #expect(sentences.contains { $0.contains("TLS 1.2") && $0.contains("ALPN h2") })
            #expect(
                sentences.contains(
                    "It speaks HTTP/2 and allows 1 request at a time, as APNs does until it has accepted a provider token."
                )
            )
            #expect(sentences.contains("Provider tokens are to speak for you; only APNs knows if they do."))
            #expect(sentences.contains { $0.contains("a sample was signed and verified (ES256)") })
        }
    }

    @Test func `a key that cannot sign does not speak for anybody`() async throws {
        try await Self.withAPNs { harness, port, token in
            let arguments = ["localhost:\(port)", "--http2"] + harness.ca
            let key = try harness.secret("p384.p8", PushHTTP2InputTests.otherCurve.utf8)
            let ids = ["--key-id", "FERRYKEY01", "--team-id", "FERRYTEAM1"]
            for (credentials, problem) in [
                (["--p8", key] + ids, "notP256"), (Array(token.prefix(2)) + ["--key-id", "short"], "malformedID"),
            ] {
                let report = try await harness.doctor(arguments + credentials)
                #expect(report.status == 1)
                #expect(report.problems.map(\.problem) == [problem])
                #expect(!report.findings.contains { $0.check == "authentication" })
                #expect(
                    !report.findings.contains { $0.check == "tokenKey" && $0.severity == "ok" && problem == "notP256" }
                )
            }
        }
    }

    @Test func `with a certificate there is no cold start`() async throws {
        try await Self.withAPNs({ $0.requiresClientCertificate = true }) { harness, port, _ in
            let client = try harness.options(harness.authority.client())
            let arguments = ["localhost:\(port)", "--http2"] + harness.ca
            let report = try await harness.doctor(arguments + client)
            let sentences = report.findings.map(\.sentence)
            #expect(sentences.contains("It speaks HTTP/2 and allows 1000 requests at a time."))
            #expect(sentences.contains("The certificate speaks for you; no provider token is needed."))
            let nobody = try await harness.doctor(arguments)
            #expect(nobody.problems.map(\.problem).contains("clientCertificateMissing"))
            #expect(nobody.status == 3)
        }
    }

    @Test func `what speaks TLS and no HTTP/2 is a fault where HTTP/2 is asked for`() async throws {
        try await DoctorHarness.run { harness in
            try await harness.withGateway { port in
                let client = try harness.options(harness.authority.client())
                let report = try await harness.doctor(["localhost:\(port)", "--http2"] + harness.ca + client)
                #expect(report.status == 3)
                #expect(report.problems.map(\.problem) == ["noApplicationProtocol"])
                #expect(report.problems.first?.cure?.contains("proxy or firewall on the way opens TLS") == true)
            }
        }
    }

    @Test func `that there is no HTTP/2 is said before what certificate it wants`() async throws {
        try await DoctorHarness.run { harness in
            for version in [TLSVersion.tls12, .tls13] {
                try await harness.withGateway(nil, { $0.maximumTLSVersion = version }) { port in
                    let report = try await harness.doctor(["localhost:\(port)", "--http2"] + harness.ca)
                    #expect(report.status == 3)
                    #expect(report.problems.map(\.problem) == ["noApplicationProtocol", "clientCertificateMissing"])
                }
            }
        }
    }

    /// The bytes of a server after TLS has agreed on HTTP/2, and the problem that the command reports.
    static let openings: [(@Sendable () -> any ChannelHandler, String)] = [
        ({ ClosingHandler() }, "closedBeforeSettings"),
        ({ SpeakingHandler(Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8)) }, "brokenHTTP2"),
        ({ SpeakingHandler([]) }, "silentHTTP2"),
        // SETTINGS with a limit of 0 streams.
        ({ SpeakingHandler([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]) }, "noStreams"),
        // GOAWAY before SETTINGS violates HTTP/2.
        ({ SpeakingHandler([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) }, "brokenHTTP2"),
    ]

    @Test func `a server that agrees on HTTP/2 and does not speak it is named`() async throws {
        try await DoctorHarness.run { harness in
            let context = try TLSContext(
                server: .init(identity: harness.authority.server(), applicationProtocols: ["h2"])
            )
            for (handler, problem) in Self.openings {
                try await harness.withServer({ [try TLSHandler(server: context), handler()] }) { port in
                    // Only the silent server makes the command wait for the whole time-out.
                    let limit = problem == "silentHTTP2" ? "10" : "300"
                    let report = try await harness.doctor(
                        ["localhost:\(port)", "--http2", "--timeout", limit] + harness.ca
                    )
                    #expect(report.status == 3)
                    #expect(report.problems.map(\.problem).contains(problem), "\(problem): \(report.problems)")
                    #expect(report.finding(problem)?.cure != nil)
                }
            }
        }
    }

    @Test func `a server without a limit of streams says so`() async throws {
        try await DoctorHarness.run { harness in
            let context = try TLSContext(
                server: .init(identity: harness.authority.server(), applicationProtocols: ["h2"])
            )
            try await harness.withServer({
                [try TLSHandler(server: context), SpeakingHandler([0, 0, 0, 4, 0, 0, 0, 0, 0])]
            }) { port in
                let report = try await harness.doctor(["localhost:\(port)", "--http2"] + harness.ca)
                #expect(report.status == 0)
                #expect(report.findings.map(\.sentence).contains { $0.contains("sets no limit") })
            }
        }
    }

    @Test func `the option needs a host`() async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(["doctor", "--http2", "--p8", "key.p8"], in: directory)
            #expect(output.status == 2)
            #expect(output.messages.contains("--ca, --server-name and --http2 need HOST:PORT."))
        }
    }
}
