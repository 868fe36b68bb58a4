import Ferry
import FerryAppStore
import FerryCore
import FerryOpenSSL
import FerryTesting
import Foundation
import NIOCore
import NIOHTTP1
import Testing

@testable import FerryDoctor

@Suite(.timeLimit(.minutes(10))) struct DoctorReceiverTests {
    /// What a correct receiver answers: nothing is wrong with a GET, and a forged notification is refused.
    private static let correct: @Sendable (HTTPMethod, Int) -> ReceiverServer.Reply = { method, _ in
        .init(status: method == .GET ? 200 : 403)
    }

    /// The names of warnings and faults, without that of the free port. Any answer is slow on a machine that is busy with
    /// other tests.
    private func problems(_ report: DoctorHarness.Report) -> [String?] {
        report.problems.map(\.problem).filter { $0 != "unusualPort" && $0 != "slowAnswer" }
    }

    /// Whether the status is that of no fault, but for a slow answer.
    private func isSuccess(_ report: DoctorHarness.Report) -> Bool {
        report.status == (report.finding("slowAnswer")?.severity == "fault" ? 3 : 0)
    }

    @Test func `Ferry's own receiver is in order, and took nothing`() async throws {
        try await DoctorHarness.run { harness in
            let statuses = Locked<[Int]>([])
            let taken = Locked(0)
            let verifier = try AppStoreVerifier(.init(apps: [AppStoreApp(bundleID: ForgedNotification.bundleID)]))
            let receiver = AppStoreReceiver(
                verifier,
                handOver: .handler { _ in taken.withLock { $0 += 1 } },
                answerLimit: .seconds(60)
            ) { event in
                if case .refused(_, let status) = event { statuses.withLock { $0.append(status) } }
            }
            var configuration = AppStoreServer.Configuration()
            configuration.path = "/apple"
            configuration.identity = try harness.authority.server()
            let server = try await AppStoreServer.start(receiver, configuration)
            let report = try await harness.doctor(["https://localhost:\(server.port)/apple"] + harness.ca)
            let wrong = try await harness.doctor(["https://localhost:\(server.port)/"] + harness.ca)
            await server.stop(within: .seconds(5))
            #expect(self.problems(report) == [])
            #expect(report.finding("unusualPort")?.severity == "warning")
            #expect(self.isSuccess(report))
            #expect(report.host == "localhost:\(server.port)")
            #expect(report.findings.contains { $0.sentence.contains("that Apple did not sign (403), as it should") })
            #expect(report.findings.contains { $0.sentence.contains("of 19 KB, as large as Apple's, gets the same") })
            #expect(report.findings.contains { $0.sentence.contains("Apple trusts public authorities only") })
            #expect(report.findings.contains { $0.sentence.contains("HTTP/1.1 and keeps the connection") })
            #expect(self.problems(wrong) == ["pathNotFound"])
            #expect(wrong.status == 3)
            #expect(statuses.withLock { $0 } == [403, 403])
            #expect(taken.withLock { $0 } == 0)
        }
    }

    @Test func `a redirect is named with the URL to enter in its place`() async throws {
        try await DoctorHarness.run { harness in
            let report = try await harness.examine { _, _ in
                .init(status: 301, headers: ["Location": "https://www.example.com/apple?key=secret"])
            }
            #expect(self.problems(report) == ["redirect"])
            #expect(report.status == 3)
            let finding = try #require(report.finding("redirect"))
            #expect(finding.sentence.contains("(301) to another host"))
            #expect(finding.cure?.contains("enter https://www.example.com/apple?… in App Store Connect") == true)
            let slash = try await harness.examine { _, _ in .init(status: 308, headers: ["Location": "/apple/"]) }
            #expect(slash.finding("redirect")?.sentence.contains("the path with a slash at its end") == true)
        }
    }

    @Test func `a receiver that takes a forged notification is a fault`() async throws {
        try await DoctorHarness.run { harness in
            let report = try await harness.examine { _, _ in .init(status: 200, body: "ok") }
            #expect(self.problems(report) == ["verifiesNothing"])
            #expect(report.status == 3)
            #expect(report.finding("verifiesNothing")?.cure?.contains("Apple Root CA - G3") == true)
        }
    }

    @Test func `a limit of 8 KB is named, whether by 413, by another status or program, or by a cut`() async throws {
        try await DoctorHarness.run { harness in
            let limit = 8 * 1024
            let statuses: [(ReceiverServer.Reply, String)] = [
                (.init(status: 413), "too large for it (413)"), (.init(status: 500), "one of 19 KB with 500"),
                (.init(status: 403, headers: ["Server": "awselb/2.0"], body: "Forbidden"), "not by the same program"),
            ]
            for (reply, words) in statuses {
                let report = try await harness.examine { method, size in
                    size > limit ? reply : Self.correct(method, size)
                }
                #expect(self.problems(report) == ["largeBodyRefused"])
                #expect(report.status == 3)
                #expect(report.finding("largeBodyRefused")?.sentence.contains(words) == true, "\(words)")
                #expect(report.finding("largeBodyRefused")?.cure?.contains("client_max_body_size") == true)
            }
            let cut = try await harness.examine(cutsAbove: limit, Self.correct)
            #expect(self.problems(cut) == ["largeBodyRefused"])
            #expect(cut.finding("largeBodyRefused")?.sentence.contains("the connection ends") == true)
        }
    }

    @Test func `a slow receiver is warned of, and one that never answers is a fault`() async throws {
        try await DoctorHarness.run { harness in
            let slow = try await harness.examine { method, size in
                .init(status: 403, delay: size > 0 ? .milliseconds(1_100) : .zero)
            }
            #expect(slow.finding("slowAnswer") != nil)
            #expect(slow.finding("slowAnswer")?.cure?.contains("answer before the work") == true)
            let silent = try await harness.examine(options: ["--timeout", "5"]) { method, _ in
                .init(status: 200, delay: method == .GET ? .zero : nil)
            }
            #expect(self.problems(silent) == ["noAnswer"])
            #expect(silent.finding("noAnswer")?.sentence.contains("does not answer within 5 s") == true)
            #expect(silent.status == 3)
        }
    }

    @Test func `a wrong name is named, and nothing is posted`() async throws {
        try await DoctorHarness.run { harness in
            let posts = Locked(0)
            let identity = try harness.authority.server(dnsNames: ["shop.example.com"], ipAddresses: [])
            let report = try await harness.examine(identity: identity) { _, _ in
                posts.withLock { $0 += 1 }
                return .init(status: 403)
            }
            #expect(self.problems(report) == ["wrongName"])
            #expect(report.status == 3)
            let finding = try #require(report.finding("wrongName"))
            #expect(finding.sentence.contains("not for localhost, but for shop.example.com"))
            #expect(finding.cure?.contains("--server-name") == false)
            #expect(posts.withLock { $0 } == 0)
        }
    }

    @Test func `a chain without its intermediate is named with what is missing`() async throws {
        try await DoctorHarness.run { harness in
            let identity = try ThrowAwayCA(name: "Intermediate R10").server()
            let report = try await harness.examine(identity: identity, Self.correct)
            #expect(self.problems(report) == ["missingIntermediate"])
            #expect(report.status == 3)
            let finding = try #require(report.finding("missingIntermediate"))
            #expect(finding.sentence.contains("issued by CN=Intermediate R10"))
            #expect(finding.cure?.contains("fullchain.pem") == true)
            let selfSigned = try await harness.examine(identity: ThrowAwayCA.selfSigned(), Self.correct)
            #expect(self.problems(selfSigned) == ["selfSigned"])
            #expect(selfSigned.finding("selfSigned")?.cure?.contains("public authority") == true)
        }
    }

    @Test func `a certificate that ends soon is warned of`() async throws {
        try await DoctorHarness.run { harness in
            let identity = try harness.authority.server(validity: .days(5))
            let report = try await harness.examine(identity: identity, Self.correct)
            #expect(self.problems(report) == ["expiresSoon"])
            #expect(self.isSuccess(report))
        }
    }

    @Test func `old TLS is named in Apple's terms, and so is TLS 1.3 alone`() async throws {
        try await DoctorHarness.run { harness in
            let identity = try harness.authority.server(key: .rsa2048)
            for (versions, problem, words) in [
                (TLSVersion.tls10 ... .tls11, "onlyOldTLS", "Apple wants TLS 1.2 or later"),
                (.tls13 ... .tls13, "onlyTLS13", "Apple wants TLS 1.2 or later"),
            ] {
                var settings = TLSContext.Server(identity: identity, profile: .legacy)
                settings.versions = versions
                let server = ReceiverServer(tls: try TLSContext(server: settings), reply: Self.correct)
                try await harness.withServer(server.handlers) { port in
                    let report = try await harness.doctor(["https://localhost:\(port)/"] + harness.ca)
                    #expect(self.problems(report) == [problem])
                    #expect(report.finding(problem)?.sentence.contains(words) == true)
                    #expect(report.finding(problem)?.cure?.contains("--t") == false)
                }
            }
        }
    }

    @Test func `a server that demands a client's certificate is named`() async throws {
        try await DoctorHarness.run { harness in
            let tls = try TLSContext(
                server: .init(identity: harness.authority.server(), clientCertificates: .verified { _ in true })
            )
            let server = ReceiverServer(tls: tls, reply: Self.correct)
            try await harness.withServer(server.handlers) { port in
                let report = try await harness.doctor(["https://localhost:\(port)/"] + harness.ca)
                #expect(self.problems(report) == ["clientCertificateMissing"])
                #expect(report.finding("clientCertificateMissing")?.cure?.contains("ssl_verify_client") == true)
            }
        }
    }

    @Test func `a port without TLS is named, and the same port with http is warned of and examined`() async throws {
        try await DoctorHarness.run { harness in
            let server = ReceiverServer(reply: Self.correct)
            try await harness.withServer(server.handlers) { port in
                let https = try await harness.doctor(["https://127.0.0.1:\(port)/"])
                #expect(self.problems(https) == ["plainText"])
                #expect(https.status == 3)
                let http = try await harness.doctor(["http://127.0.0.1:\(port)/"])
                #expect(self.problems(http) == ["plainHTTP"])
                #expect(http.finding("plainHTTP")?.severity == "warning")
                #expect(http.findings.contains { $0.sentence.contains("(403), as it should") })
                #expect(self.isSuccess(http))
            }
        }
    }

    @Test func `a closed port is named with the rule for Apple's posts`() async throws {
        try await DoctorHarness.run { harness in
            let port = try await harness.closedPort()
            let report = try await harness.doctor(["https://127.0.0.1:\(port)/"])
            #expect(self.problems(report) == ["portClosed"])
            #expect(report.finding("portClosed")?.cure?.contains("17.0.0.0/8") == true)
            #expect(report.finding("portClosed")?.cure?.contains("APNs") == false)
        }
    }

    @Test(arguments: [
        (["https://example.com/", "--http2"], "--http2 does not fit a URL"),
        (["https://example.com/", "--cert", "a", "--environment", "sandbox"], "--cert and --environment do not fit"),
        (["https://example.com/", "--p8", "a"], "--p8 does not fit a URL"),
        (["https://example.com/", "--server-name", "a", "--tls-profile", "legacy"], "and --tls-profile do not fit"),
        (["https://example.com/", "--config", "a"], "--config does not fit a URL"),
        (["https://a:b@example.com/"], "holds a user or a password"), (["ftp://example.com/"], "neither https:// nor"),
        (["https://example.com:0/"], "port is not 1 to 65535"),
    ])
    func `what does not fit a URL is bad usage`(arguments: [String], words: String) async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(["doctor"] + arguments, in: directory)
            #expect(output.status == 2)
            #expect(output.messages.contains(words))
        }
    }

    @Test func `the text says what was sent`() async throws {
        try await DoctorHarness.run { harness in
            let server = ReceiverServer(reply: Self.correct)
            try await harness.withServer(server.handlers) { port in
                let output = try await FerryProgram.run(["doctor", "http://127.0.0.1:\(port)/"], in: harness.directory)
                #expect(output.result.contains("Sent: a GET, and a POST of a forged notification of 5 KB"))
                #expect(output.result.contains("and another of 19 KB"))
                let isInOrder = output.status == 0
                #expect(output.result.contains("request a test notification") == isInOrder)
            }
        }
    }
}
