import FerryOpenSSL
import Foundation
import Testing

/// Issued certificates and archives, as the `openssl` program sees them.
@Suite struct IssuedCertificateTests {
    @Test(arguments: [KeyKind.p256, .rsa2048])
    func `issued certificates pass the strict checks of RFC 5280`(key: KeyKind) throws {
        let directory = try TemporaryDirectory()
        let authority = try ThrowAwayCA(key: key, validity: .days(3650), isStrict: true)
        let roots = try directory.write("ca.pem", authority.certificatePEM)
        let server = try directory.write("server.pem", authority.server(key: key).certificateChainPEM)
        let client = try directory.write("client.pem", authority.client(key: key).certificateChainPEM)
        for (purpose, path) in [("sslserver", server), ("sslclient", client)] {
            try OpenSSLTool.run(["verify", "-x509_strict", "-purpose", purpose, "-CAfile", roots, path])
        }
    }

    @Test func `an archive with triple DES needs no legacy provider, and its checksum is SHA-1`() throws {
        let directory = try TemporaryDirectory()
        let identity = try ThrowAwayCA().client(key: .rsa2048)
        let path = try directory.write("client.p12", identity.pkcs12(passphrase: "secret", encryption: .tripleDES))
        let info = try OpenSSLTool.run(["pkcs12", "-in", path, "-info", "-noout", "-passin", "pass:secret"])
        #expect(info.contains("MAC: sha1, Iteration 2048"))
        #expect(info.split(separator: "\n").count { $0.contains("pbeWithSHA1And3-KeyTripleDES-CBC") } == 2)
        let read = try TLSIdentity(pkcs12Path: path, passphrase: "secret")
        #expect(read.summary == identity.summary)
        #expect(!read.neededLegacyProvider)
    }

    @Test func `the validity in days begins a little before now`() throws {
        let summary = try ThrowAwayCA(validity: .days(20)).server(validity: .days(10)).summary
        #expect(summary.notBefore < .now)
        #expect(abs(summary.notAfter.timeIntervalSinceNow - 10 * 86_400) < 3600)
    }
}
