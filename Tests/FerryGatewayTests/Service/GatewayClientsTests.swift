import FerryOpenSSL
import Foundation
import Testing

@testable import FerryGateway

@Suite struct GatewayClientsTests {
    @Test func `a certificate with a name of many kilobytes is shown by the beginning of it`() throws {
        let clients = GatewayClients([(.fingerprints([[1]]), 0)])
        guard case .judged(_, let accepts) = clients.certificates() else { return #expect(Bool(false)) }
        // 600 units of 60 letters each.
        let units = (0..<600).map { "/OU=\($0)\(String(repeating: "a", count: 55))" }.joined()
        let pem = try Self.certificate(subject: "/CN=shop\(units)")
        let certificate = try CertificateSummary(certificate: pem)
        #expect(certificate.subject.utf8.count > 36_000)
        #expect(accepts(certificate, ChainFinding(.init(kind: .unknownIssuer, place: 0))) == .refused)
        let words = try #require(clients.takeRefused())
        #expect(words.utf8.count < 500)
        #expect(words.hasSuffix("…, SHA-256 \(certificate.fingerprintHex)."))
    }

    private static func certificate(subject: String) throws -> [UInt8] {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            "/dev/null", "-subj", subject,
        ]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Array(bytes)
    }
}
