import FerryOpenSSL
import Foundation
import Testing

struct CredentialFormTests {
    let identity: TLSIdentity
    let directory: TemporaryDirectory

    init() throws {
        identity = try ThrowAwayCA().client()
        directory = try TemporaryDirectory()
    }

    /// The form of a key or certificate after the openssl program has converted it.
    private func made(_ arguments: [String], from bytes: [UInt8]) throws -> CredentialForm {
        let output = directory.path("out")
        try OpenSSLTool.run(arguments + ["-in", directory.write("in", bytes), "-out", output])
        return CredentialForm([UInt8](try Data(contentsOf: URL(filePath: output))))
    }

    @Test func `each form that Ferry reads is recognized, in text and in binary`() throws {
        let (chain, key) = (identity.certificateChainPEM, try identity.privateKeyPEM())
        #expect(CredentialForm(chain) == .certificate)
        #expect(CredentialForm(key) == .privateKey)
        #expect(try CredentialForm(identity.privateKeyPEM(passphrase: "secret")) == .privateKey)
        #expect(CredentialForm(key + chain) == .certificateAndKey)
        #expect(try made(["x509", "-outform", "DER"], from: chain) == .certificate)
        #expect(try made(["ec", "-outform", "DER"], from: key) == .privateKey)
        for encryption in [TLSIdentity.ArchiveEncryption.modern, .legacy] {
            #expect(try CredentialForm(identity.pkcs12(passphrase: "secret", encryption: encryption)) == .pkcs12)
        }
    }

    @Test func `each form that Ferry cannot read is named`() throws {
        let key = try identity.privateKeyPEM()
        #expect(
            try made(["req", "-new", "-subj", "/CN=a", "-key", directory.write("key", key)], from: [])
                == .certificateRequest
        )
        #expect(try made(["ec", "-pubout"], from: key) == .publicKey)
        let openSSH = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
        #expect(CredentialForm(Array(openSSH.utf8)) == .openSSHKey)
        #expect(CredentialForm([0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2]) == .javaKeyStore)
        #expect(CredentialForm([]) == .empty)
        #expect(CredentialForm(Array("hello".utf8)) == .unknown)
        #expect(CredentialForm([0x30, 0x03, 0x02, 0x01, 0x00]) == .unknown)
    }

    @Test func `random bytes have a form, and never crash`() throws {
        var generator = SplitMix(state: 11)
        let archive = try identity.pkcs12(passphrase: "secret")
        for length in 0..<archive.count where length % 7 == 0 {
            _ = CredentialForm(Array(archive[..<length]))
            var changed = archive
            changed[Int.random(in: changed.indices, using: &generator)] ^= UInt8.random(in: 1...255, using: &generator)
            _ = CredentialForm(changed)
        }
    }
}
