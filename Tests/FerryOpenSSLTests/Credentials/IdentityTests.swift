import FerryOpenSSL
import Foundation
import Testing

struct IdentityTests {
    let ca: ThrowAwayCA
    let identity: TLSIdentity
    let directory: TemporaryDirectory

    init() throws {
        ca = try ThrowAwayCA()
        identity = try ca.client(topic: "com.example.app")
        directory = try TemporaryDirectory()
    }

    private func code(_ body: () throws -> Void) -> TLSError.Code? {
        #expect(throws: TLSError.self) { try body() }?.code
    }

    @Test func `certificate and key are read from two files, from one file and from bytes`() throws {
        let key = try identity.privateKeyPEM()
        let chain = identity.certificateChainPEM
        let chainPath = try directory.write("chain.pem", chain)
        let keyPath = try directory.write("key.pem", key)
        let bothPath = try directory.write("both.pem", key + Array("Bag Attributes\n".utf8) + chain)
        let two = try TLSIdentity(certificatePath: chainPath, privateKeyPath: keyPath)
        let one = try TLSIdentity(certificatePath: bothPath)
        let bytes = try TLSIdentity(certificateChain: chain, privateKey: key)
        for read in [two, one, bytes] { #expect(read.summary == identity.summary) }
    }

    @Test func `the certificate of the key is found in its chain, whatever the order`() throws {
        let mixed = ca.certificatePEM + identity.certificateChainPEM
        let read = try TLSIdentity(certificateChain: mixed, privateKey: identity.privateKeyPEM())
        #expect(read.summary == identity.summary)
        #expect(read.certificateChainPEM == identity.certificateChainPEM + ca.certificatePEM)
    }

    @Test(arguments: [KeyKind.p256, .rsa2048])
    func `keys in the forms of PKCS#1, SEC 1 and DER are read`(kind: KeyKind) throws {
        let identity = try ca.client(key: kind)
        let plain = try directory.write("key.pem", identity.privateKeyPEM())
        let old = directory.path("old.pem")
        let der = directory.path("key.der")
        let command = kind == .p256 ? "ec" : "rsa"
        try OpenSSLTool.run([command, "-in", plain, "-out", old] + (kind == .p256 ? [] : ["-traditional"]))
        try OpenSSLTool.run([command, "-in", plain, "-outform", "DER", "-out", der])
        let chain = try directory.write("chain.pem", identity.certificateChainPEM)
        let chainDER = directory.path("chain.der")
        try OpenSSLTool.run(["x509", "-in", chain, "-outform", "DER", "-out", chainDER])
        for key in [old, der] {
            let read = try TLSIdentity(certificatePath: chainDER, privateKeyPath: key)
            #expect(read.summary == identity.summary)
        }
    }

    @Test(
        arguments: [
            "pkcs8", "traditional", "des3",
        ]
    )
    func `an encrypted key needs its passphrase, in every form of encryption`(form: String) throws {
        let identity = try ca.client(key: .rsa2048)
        let plain = try directory.write("key.pem", identity.privateKeyPEM())
        let path = directory.path("encrypted.pem")
        let secret = "pass:Übergang 1"
        switch form {
        case "traditional":
            try OpenSSLTool.run(["rsa", "-traditional", "-aes128", "-in", plain, "-passout", secret, "-out", path])
        case "des3":
            try OpenSSLTool.run(["rsa", "-traditional", "-des3", "-in", plain, "-passout", secret, "-out", path])
        default:
            try OpenSSLTool.run(["pkcs8", "-topk8", "-in", plain, "-passout", secret, "-out", path])
        }
        let chain = try directory.write("chain.pem", identity.certificateChainPEM)
        let read = try TLSIdentity(certificatePath: chain, privateKeyPath: path, passphrase: "Übergang 1")
        #expect(read.summary == identity.summary)
        #expect(code { _ = try TLSIdentity(certificatePath: chain, privateKeyPath: path) } == .passphraseRequired)
        for wrong in ["another secret", "", String(repeating: "x", count: 5_000)] {
            let error = #expect(throws: TLSError.self) {
                try TLSIdentity(certificatePath: chain, privateKeyPath: path, passphrase: wrong)
            }
            #expect(error?.code == .wrongPassphrase)
            #expect(error?.description.contains("encrypted.pem") == true)
            #expect(wrong.isEmpty || !String(reflecting: error).contains(wrong))
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may enter every directory"))
    func `a file below a directory that the user may not enter is not called missing`() throws {
        let closed = directory.url.appending(path: "closed")
        let files = FileManager.default
        try files.createDirectory(at: closed, withIntermediateDirectories: false, attributes: [.posixPermissions: 0])
        defer { try? files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: closed.path) }
        let path = closed.appending(path: "key.pem").path
        let error = #expect(throws: TLSError.self) { try TLSIdentity(certificatePath: path) }
        #expect(error?.code == .fileUnreadable)
        #expect(error?.description.contains("\(path) cannot be reached: this user may not enter") == true)
    }

    @Test func `each missing or damaged part has its own code, and the file is named`() throws {
        let key = try identity.privateKeyPEM()
        let chain = identity.certificateChainPEM
        let chainPath = try directory.write("chain.pem", chain)
        let keyPath = try directory.write("key.pem", key)
        let missing = directory.path("missing.pem")
        let error = #expect(throws: TLSError.self) { try TLSIdentity(certificatePath: missing) }
        #expect(error?.code == .fileNotFound)
        #expect(error?.description.contains(missing) == true)
        #expect(code { _ = try TLSIdentity(certificatePath: directory.url.path) } == .fileUnreadable)
        #expect(code { _ = try TLSIdentity(certificatePath: "/dev/zero") } == .fileUnreadable)
        #expect(code { _ = try TLSIdentity(certificatePath: chainPath) } == .noPrivateKey)
        #expect(code { _ = try TLSIdentity(certificatePath: keyPath) } == .noCertificate)
        #expect(code { _ = try TLSIdentity(certificateChain: [], privateKey: key) } == .noCertificate)
        #expect(code { _ = try TLSIdentity(certificateChain: chain, privateKey: []) } == .noPrivateKey)
        var damaged = chain
        damaged[chain.count / 2] = UInt8(ascii: "!")
        #expect(code { _ = try TLSIdentity(certificateChain: damaged, privateKey: key) } == .malformed)
        damaged = key
        damaged[key.count / 2] = UInt8(ascii: "!")
        #expect(code { _ = try TLSIdentity(certificateChain: chain, privateKey: damaged) } == .malformed)
    }

    @Test func `credentials of another kind are named, and so is the call that reads them`() throws {
        let key = try directory.write("key.pem", identity.privateKeyPEM())
        let chain = try directory.write("chain.pem", identity.certificateChainPEM)
        let archive = directory.path("push.p12")
        try OpenSSLTool.run([
            "pkcs12", "-export", "-in", chain, "-inkey", key, "-passout", "pass:x", "-out", archive,
        ])
        func message(_ body: () throws -> Void) -> String {
            #expect(throws: TLSError.self) { try body() }?.description ?? ""
        }
        #expect(
            message { _ = try TLSIdentity(certificatePath: archive) }
                == "\(archive) is a PKCS#12 archive and not a certificate: read it with TLSIdentity(pkcs12Path:passphrase:)."
        )
        #expect(message { _ = try TLSIdentity(certificatePath: chain, privateKeyPath: archive) }.contains("pkcs12Path"))
        #expect(
            message { _ = try TLSIdentity(certificatePath: key, privateKeyPath: chain) }
                == "\(key) holds the private key and \(chain) the certificate: exchange them."
        )
        #expect(message { _ = try TLSIdentity(certificatePath: key) }.contains("give it to a ProviderTokenSource"))
        #expect(message { _ = try TLSIdentity(certificatePath: chain) }.contains("give the file of its key, too"))
        #expect(message { _ = try TLSIdentity(pkcs12Path: chain) }.contains("certificatePath:privateKeyPath:"))
        for wrong in [chain, archive] {
            #expect(message { _ = try ES256Key(path: wrong) }.contains("give the .p8 file that Apple issued"))
        }
    }

    @Test func `a key of another certificate is refused`() throws {
        let other = try ca.client()
        let key = try other.privateKeyPEM()
        #expect(
            code { _ = try TLSIdentity(certificateChain: identity.certificateChainPEM, privateKey: key) }
                == .keyMismatch
        )
    }

    @Test func `validity is checked on request, but not by reading`() throws {
        try identity.validate(at: Date())
        let expired = try ca.client(validity: .expired)
        let future = try ca.client(validity: .future)
        #expect(code { try expired.validate(at: Date()) } == .certificateExpired)
        #expect(code { try future.validate(at: Date()) } == .certificateNotYetValid)
        try expired.validate(at: Date(timeIntervalSinceNow: -5_400))
        let noon = Date(timeIntervalSince1970: 4_102_488_000)
        let error = #expect(throws: TLSError.self) { try identity.validate(at: noon) }
        #expect(error?.description.contains("this machine's clock says 2100-01-01T12:00:00Z") == true)
    }

    @Test(
        arguments: [
            TLSIdentity.ArchiveEncryption.modern, .legacy,
        ]
    )
    func `a PKCS#12 archive is read, both a modern one and one from an old keychain`(
        encryption: TLSIdentity.ArchiveEncryption
    ) throws {
        for passphrase in ["secret", "pässword", ""] {
            let archive = try identity.pkcs12(passphrase: passphrase, encryption: encryption)
            let read = try TLSIdentity(pkcs12: archive, passphrase: passphrase)
            #expect(read.summary == identity.summary)
            #expect(read.neededLegacyProvider == (encryption == .legacy))
        }
        let archive = try identity.pkcs12(passphrase: "secret", encryption: encryption)
        let path = try directory.write("identity.p12", archive)
        #expect(code { _ = try TLSIdentity(pkcs12Path: path, passphrase: "wrong") } == .wrongPassphrase)
        #expect(code { _ = try TLSIdentity(pkcs12Path: path) } == .passphraseRequired)
        #expect(code { _ = try TLSIdentity(pkcs12: Array("text".utf8)) } == .malformed)
    }

    @Test func `an identity from an old archive works in a handshake`() throws {
        let archive = try identity.pkcs12(passphrase: "secret", encryption: .legacy)
        let read = try TLSIdentity(pkcs12: archive, passphrase: "secret")
        let policy = TLSContext.ClientCertificates.required(ca.trustRoots)
        var pair = try EnginePair(
            client: TLSContext(client: .init(trustRoots: ca.trustRoots, identity: read)),
            server: TLSContext(server: .init(identity: ca.server(), clientCertificates: policy))
        )
        pair.run()
        #expect(pair.serverLog.order == ["handshake"])
    }

    @Test(arguments: [[], ["-legacy"]])
    func `the openssl program's own archives are read, with and without -legacy`(options: [String]) throws {
        let chain = try directory.write("chain.pem", identity.certificateChainPEM)
        let key = try directory.write("key.pem", identity.privateKeyPEM())
        let authority = try directory.write("ca.pem", ca.certificatePEM)
        let path = directory.path("foreign.p12")
        try OpenSSLTool.run(
            ["pkcs12", "-export", "-in", chain, "-inkey", key, "-certfile", authority, "-out", path]
                + ["-passout", "pass:secret"] + options
        )
        let read = try TLSIdentity(pkcs12Path: path, passphrase: "secret")
        #expect(read.summary == identity.summary)
        #expect(read.certificateChainPEM == identity.certificateChainPEM + ca.certificatePEM)
    }

    @Test func `random bytes are never taken for an identity, and never crash`() throws {
        var generator = SplitMix(state: 7)
        let archive = try identity.pkcs12(passphrase: "secret")
        for _ in 0..<200 {
            var changed = archive
            for _ in 0..<4 {
                changed[Int.random(in: changed.indices, using: &generator)] = UInt8.random(
                    in: 0...255,
                    using: &generator
                )
            }
            _ = try? TLSIdentity(pkcs12: changed, passphrase: "secret")
            _ = try? TLSIdentity(certificateChain: changed, privateKey: changed)
        }
    }
}
