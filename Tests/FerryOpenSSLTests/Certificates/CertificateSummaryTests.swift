import FerryOpenSSL
import Foundation
import Testing

struct CertificateSummaryTests {
    let ca: ThrowAwayCA

    init() throws {
        ca = try ThrowAwayCA(name: "Test authority")
    }

    @Test func `a push certificate tells topic, environments, validity and key`() throws {
        let summary = try ca.client(topic: "com.example.app").summary
        #expect(summary.userID == "com.example.app")
        #expect(summary.commonName == "Apple Push Services: com.example.app")
        #expect(summary.subject == "CN=Apple Push Services: com.example.app,UID=com.example.app")
        #expect(summary.issuer == "CN=Test authority")
        #expect(summary.environments == [.sandbox, .production])
        #expect(summary.pushExtensions == ["1.2.840.113635.100.6.3.1", "1.2.840.113635.100.6.3.2"])
        #expect(summary.topics == [.init(name: "com.example.app", kinds: [])])
        #expect(summary.keyKind == "prime256v1")
        #expect(abs(summary.notBefore.timeIntervalSinceNow + 3_600) < 60)
        #expect(abs(summary.notAfter.timeIntervalSinceNow - 365 * 86_400) < 60)
    }

    @Test func `each environment is recognized, and an ordinary certificate has none`() throws {
        #expect(try ca.client(environments: [.sandbox]).summary.environments == [.sandbox])
        #expect(try ca.client(environments: [.production]).summary.environments == [.production])
        #expect(try ca.client(environments: []).summary.environments == [])
        #expect(try ca.server().summary.topics == [])
    }

    @Test func `the list of topics is read with the kinds of each topic`() throws {
        let topics = [
            CertificateSummary.Topic(name: "com.example.app", kinds: ["app"]),
            CertificateSummary.Topic(name: "com.example.app.voip", kinds: ["voip"]),
            CertificateSummary.Topic(name: "com.example.app.complication", kinds: ["complication", "watch"]),
        ]
        let many = (0..<40).map { CertificateSummary.Topic(name: "com.example.number\($0)", kinds: ["app"]) }
        #expect(try ca.client(topics: topics).summary.topics == topics)
        #expect(try ca.client(topics: many).summary.topics == many)
    }

    @Test func `alternative names are read, addresses in text form`() throws {
        let server = try ca.server(dnsNames: ["a.example.com", "*.b.example.com"], ipAddresses: ["10.0.0.1", "::1"])
        #expect(server.summary.dnsNames == ["a.example.com", "*.b.example.com"])
        #expect(server.summary.ipAddresses == ["10.0.0.1", "0:0:0:0:0:0:0:1"])
    }

    @Test func `an RSA key tells its length`() throws {
        #expect(try ca.client(key: .rsa2048).summary.keyKind == "RSA 2048")
    }

    @Test func `the fingerprint is the one that the openssl program prints`() throws {
        let directory = try TemporaryDirectory()
        let identity = try ca.server()
        let path = try directory.write("server.pem", identity.certificateChainPEM)
        let output = try OpenSSLTool.run(["x509", "-in", path, "-noout", "-fingerprint", "-sha256"])
        let printed = output.split(separator: "=").last ?? ""
        let hex = printed.filter { $0.isHexDigit }.lowercased()
        #expect(identity.summary.fingerprintHex == hex)
    }

    @Test func `a certificate is read from text, and any other text is refused`() throws {
        let identity = try ca.server()
        #expect(try CertificateSummary(certificate: identity.certificateChainPEM) == identity.summary)
        let error = #expect(throws: TLSError.self) { try CertificateSummary(certificate: Array("none".utf8)) }
        #expect(error?.code == .noCertificate)
    }
}
