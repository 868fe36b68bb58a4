import Ferry
import FerryOpenSSL
import FerryTerminal
import Foundation
import NIOCore
import Testing

@testable import FerryDoctor

/// Tests of checks with facts that no test can produce: years that pass, networks that drop packets.
@Suite struct DoctorCheckTests {
    private func facts(_ results: [(String, HostFacts.Attempt.Result)]) throws -> HostFacts {
        let attempts = try results.map { address, result in
            HostFacts.Attempt(address: try SocketAddress(ipAddress: address, port: 2195), result: result)
        }
        var facts = HostFacts(
            host: "push.example.com",
            port: 2195,
            serverName: "push.example.com",
            limit: .seconds(10),
            addresses: .success(attempts.map(\.address))
        )
        facts.attempts = attempts
        return facts
    }

    @Test func `a certificate is warned of in its last thirty days, and not before`() throws {
        let certificate = try ThrowAwayCA().client().summary
        func findings(daysBeforeEnd days: Double) -> [Finding] {
            OwnCertificateChecks(isForApple: false, now: certificate.notAfter.addingTimeInterval(-days * 86_400))
                .findings([certificate])
                .filter { $0.severity != .ok }
        }
        #expect(findings(daysBeforeEnd: 30.1) == [])
        let soon = findings(daysBeforeEnd: 29.5)
        #expect(soon.map(\.problem) == [.expiresSoon])
        #expect(soon.first?.severity == .warning)
        #expect(soon.first?.sentence.hasSuffix("in 29 days.") == true)
        #expect(findings(daysBeforeEnd: -0.1).map(\.problem) == [.expired])
    }

    @Test func `packets that are dropped point at the firewall, and a missing route at the network`() throws {
        let filtered = try WayChecks.findings(self.facts([("192.0.2.1", .timedOut)]))
        #expect(filtered.last?.problem == .portFiltered)
        #expect(filtered.last?.sentence.contains("within 10 s") == true)
        #expect(filtered.last?.cure?.contains("2195") == true)
        let unreachable = try WayChecks.findings(self.facts([("2001:db8::1", .failed("Network is unreachable"))]))
        #expect(unreachable.last?.problem == .unreachable)
    }

    @Test func `an address that fails matters when it costs time or has a twin`() throws {
        let noIPv6 = try WayChecks.findings(self.facts([("2001:db8::1", .refused), ("192.0.2.1", .connected)]))
        #expect(noIPv6.allSatisfy { $0.severity == .ok })
        let slow = try WayChecks.findings(self.facts([("2001:db8::1", .timedOut), ("192.0.2.1", .connected)]))
        #expect(slow.compactMap(\.problem) == [.addressFails])
        let twin = try WayChecks.findings(self.facts([("192.0.2.1", .refused), ("192.0.2.2", .connected)]))
        #expect(twin.compactMap(\.problem) == [.addressFails])
    }

    @Test func `a name without address and a silent resolver are told apart`() throws {
        var facts = try self.facts([])
        facts.addresses = .failure(.refused("Name or service not known"))
        #expect(WayChecks.findings(facts).map(\.problem) == [.nameNotFound])
        facts.addresses = .failure(.timedOut)
        #expect(WayChecks.findings(facts).map(\.problem) == [.resolverSilent])
    }

    @Test func `what a server closes without a word is a refusal before the handshake's end, and a warning after`()
        throws
    {
        var facts = try self.facts([])
        var report = HandshakeReport(ending: .closed)
        report.chain = try CertificateChain(certificates: ThrowAwayCA().server().certificateChainPEM, source: "")
        report.asksForCertificate = true
        facts.handshakes = [.init(version: .tls12, report: report)]
        func problems(_ shown: ClientCertificateChecks.Shown) -> [Problem?] {
            ClientCertificateChecks.findings(facts, shown: shown).filter { $0.severity != .ok }.map(\.problem)
        }
        #expect(problems(.certificate) == [.clientCertificateRefused])
        #expect(problems(.nothing) == [.clientCertificateMissing])
        facts.handshakes[0].report.isCompleted = true
        #expect(problems(.certificate) == [.closedAfterHandshake])
    }

    @Test func `a server that knows the certificate and serves nobody now is warned of`() throws {
        var facts = try self.facts([])
        let alert = TLSError(.alertReceived, "The peer ended the connection with the fatal alert \"internal error\".")
        var report = HandshakeReport(ending: .failed(alert))
        report.chain = try CertificateChain(certificates: ThrowAwayCA().server().certificateChainPEM, source: "")
        report.asksForCertificate = true
        facts.handshakes = [.init(version: .tls12, report: report)]
        let findings = ClientCertificateChecks.findings(facts, shown: .certificate)
        #expect(findings.map(\.problem) == [.handshakeFails] && findings.map(\.severity) == [.warning])
    }

    @Test func `TLS 1.3 alone and a missing application protocol are warned of`() throws {
        var facts = try self.facts([])
        var report = HandshakeReport(ending: .established)
        report.isCompleted = true
        facts.handshakes = [.init(version: .tls13, report: report)]
        #expect(HandshakeChecks.findings(facts).compactMap(\.problem) == [.onlyTLS13])
        facts.handshakes.append(.init(version: .tls12, report: report))
        #expect(HandshakeChecks.findings(facts).compactMap(\.problem) == [])
        facts.http2 = .offered
        let error = TLSError(.noCommonApplicationProtocol, "")
        for index in facts.handshakes.indices { facts.handshakes[index].report.ending = .failed(error) }
        #expect(HandshakeChecks.findings(facts).compactMap(\.problem) == [.noApplicationProtocol])
    }

    @Test func `TLS 1.2 with nothing in common is the cause, also where TLS 1.0 would do`() throws {
        var facts = try self.facts([])
        var refused = HandshakeReport(ending: .failed(TLSError(.incompatiblePeer, "")))
        refused.firstBytes = [21, 3]
        var done = HandshakeReport(ending: .established)
        done.isCompleted = true
        done.cipherSuite = "AES128-CCM"
        facts.handshakes = [.init(version: .tls12, report: refused), .init(version: .tls10, report: done)]
        #expect(HandshakeChecks.findings(facts).compactMap(\.problem) == [.onlyOldTLS])
        facts.legacyHandshake = done
        let finding = try #require(HandshakeChecks.findings(facts).first)
        #expect(finding.problem == .noCommonCipher)
        #expect(finding.sentence.contains("AES128-CCM"))
        #expect(finding.cure?.contains("--tls-profile legacy") == true)
    }

    @Test func `an address that takes connections and speaks no TLS is warned of when another does`() throws {
        var facts = try self.facts([("2001:db8::1", .connected), ("192.0.2.1", .connected)])
        facts.muteAddresses = [facts.attempts[0].address]
        let findings = WayChecks.findings(facts)
        #expect(findings.compactMap(\.problem) == [.addressFails])
        #expect(findings.contains { $0.sentence.contains("2001:db8::1") && $0.sentence.contains("no TLS handshake") })
    }

    @Test func `a certificate for servers is warned of where a client would show it`() throws {
        let authority = try ThrowAwayCA()
        func problems(_ identity: TLSIdentity) -> [Problem] {
            OwnCertificateChecks(isForApple: false, now: Date()).findings([identity.summary]).compactMap(\.problem)
        }
        #expect(try problems(authority.client()) == [])
        #expect(try problems(authority.server()).contains(.wrongPurpose))
    }

    @Test func `what a peer says is quoted without control characters`() {
        #expect(PlainText.description(Array("\u{1b}[31mred".utf8)).contains("1b 5b 33 31"))
        #expect(
            PlainText.description(Array("220 mail\u{1b}[2J\r\n".utf8))
                == "it looks like a mail or FTP server (\"220 mail.[2J\")"
        )
        #expect(PlainText.description([0, 0, 6, 4, 0, 0, 0, 0, 0]) == "it looks like an HTTP/2 server without TLS")
    }

    @Test func `a file that cannot be read weighs most, then the host, then credentials`() {
        let credentials = Finding.fault(.key, .keyMismatch, "a", cure: "b")
        let host = Finding.fault(.port, .portClosed, "a", cure: "b")
        let file = Finding.fault(.file, .fileMissing, "a", cure: "b")
        let warning = Finding.warning(.trust, .selfSigned, "a", cure: "b")
        func status(_ findings: Finding...) -> Int32 { DoctorReport(findings: findings).status.rawValue }
        #expect(status(.ok(.port, "a"), warning) == 0)
        #expect(status(credentials, warning) == 1)
        #expect(status(credentials, host) == 3)
        #expect(status(credentials, host, file) == 2)
    }

    @Test func `the text has the cure under each fault`() {
        let report = DoctorReport(findings: [.ok(.port, "Fine."), .fault(.key, .keyMismatch, "Bad.", cure: "mend it")])
        #expect(report.text == "ok       Fine.\nfault    Bad.\n         cure: mend it\n\n1 fault, 0 warnings")
    }

    @Test func `the page names every problem`() throws {
        let page = URL(filePath: #filePath)
            .deletingLastPathComponent().appending(path: "../../../Docs/commands/doctor.md")
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        for problem in Problem.allCases { #expect(text.contains("`\(problem.rawValue)`"), "\(problem)") }
        for check in Finding.Check.allCases { #expect(text.contains("`\(check.rawValue)`"), "\(check)") }
    }
}
