import FerryOpenSSL
import Foundation
import Testing

/// Tests of credentials in the form of old tools, made by the `openssl` program with its legacy provider.
struct OldCredentialTests {
    static let legacy = ["-provider", "legacy", "-provider", "default"]
    static let passphrase = "the right one"

    let identity: TLSIdentity
    let directory: TemporaryDirectory
    let chain: String
    let plain: String

    init() throws {
        identity = try ThrowAwayCA().client(topic: "com.example.app", key: .rsa2048)
        directory = try TemporaryDirectory()
        chain = try directory.write("chain.pem", identity.certificateChainPEM)
        plain = try directory.write("key.pem", identity.privateKeyPEM())
    }

    private func error(_ body: () throws -> Void) -> TLSError? {
        #expect(throws: TLSError.self) { try body() }
    }

    @Test(
        arguments: [
            "rsa -traditional -des", "rsa -traditional -rc2-cbc", "rsa -traditional -rc2-40-cbc",
            "pkcs8 -topk8 -v1 PBE-MD5-DES", "pkcs8 -topk8 -v1 PBE-SHA1-DES", "pkcs8 -topk8 -v1 PBE-MD5-RC2-64",
            "pkcs8 -topk8 -v1 PBE-SHA1-RC2-40", "pkcs8 -topk8 -v1 PBE-SHA1-RC4-128", "pkcs8 -topk8 -v2 des",
            "pkcs8 -topk8 -v2 rc2-cbc", "pkcs8 -topk8 -v2 rc4",
        ]
    )
    func `a key that an old tool encrypted is opened by the right passphrase only`(command: String) throws {
        let path = directory.path("encrypted.pem")
        try OpenSSLTool.run(
            command.split(separator: " ").map(String.init) + Self.legacy
                + ["-in", plain, "-passout", "pass:\(Self.passphrase)", "-out", path]
        )
        let read = try TLSIdentity(certificatePath: chain, privateKeyPath: path, passphrase: Self.passphrase)
        #expect(read.summary == identity.summary)
        #expect(read.neededLegacyProvider)
        #expect(try read.privateKeyPEM() == identity.privateKeyPEM())
        let wrong = error {
            _ = try TLSIdentity(certificatePath: chain, privateKeyPath: path, passphrase: "a wrong one")
        }
        #expect(wrong?.code == .wrongPassphrase)
        #expect(!String(reflecting: wrong).contains("a wrong one"))
        let missing = error { _ = try TLSIdentity(certificatePath: chain, privateKeyPath: path) }
        #expect(missing?.code == .passphraseRequired)
        // Without the legacy provider the key cannot be read. Ferry loads that provider apart from the rest of the
        // process.
        #expect(throws: OpenSSLTool.Failure.self) {
            try OpenSSLTool.run(["pkey", "-in", path, "-passin", "pass:\(Self.passphrase)", "-noout"])
        }
    }

    @Test func `an algorithm that OpenSSL does not know at all is named as the cause`() throws {
        let path = directory.path("encrypted.pem")
        try OpenSSLTool.run(
            ["rsa", "-traditional", "-aes128", "-in", plain, "-passout", "pass:\(Self.passphrase)", "-out", path]
        )
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let changed = try directory.write("changed.pem", Array(text.replacing("AES-128-CBC", with: "SKIPJACK").utf8))
        let error = error {
            _ = try TLSIdentity(certificatePath: chain, privateKeyPath: changed, passphrase: Self.passphrase)
        }
        #expect(error?.code == .legacyAlgorithm)
        #expect(error?.description.contains("neither") == true)
    }

    private func archive(_ options: [String]) throws -> String {
        let path = directory.path("\(UUID().uuidString).p12")
        try OpenSSLTool.run(
            ["pkcs12", "-export", "-in", chain, "-inkey", plain, "-passout", "pass:\(Self.passphrase)", "-out", path]
                + Self.legacy + options
        )
        return path
    }

    @Test(
        arguments: [
            "PBE-SHA1-RC2-40", "PBE-SHA1-RC2-128", "PBE-SHA1-RC4-40", "PBE-SHA1-RC4-128", "PBE-MD5-DES",
            "PBE-SHA1-3DES",
        ],
        ["AES-256-CBC", "PBE-SHA1-RC2-40"]
    )
    func `a PKCS#12 archive whose key bag or certificates are encrypted by an old algorithm is opened`(
        key: String,
        certificates: String
    ) throws {
        let path = try archive(["-keypbe", key, "-certpbe", certificates])
        let read = try TLSIdentity(pkcs12Path: path, passphrase: Self.passphrase)
        #expect(read.summary == identity.summary)
        #expect(read.neededLegacyProvider == (key != "PBE-SHA1-3DES" || certificates != "AES-256-CBC"))
        #expect(try read.privateKeyPEM() == identity.privateKeyPEM())
        #expect(error { _ = try TLSIdentity(pkcs12Path: path, passphrase: "wrong") }?.code == .wrongPassphrase)
        #expect(error { _ = try TLSIdentity(pkcs12Path: path) }?.code == .passphraseRequired)
    }

    @Test(
        arguments: [["-keypbe", "AES-256-CBC"], ["-keypbe", "PBE-SHA1-RC2-40", "-certpbe", "PBE-SHA1-RC2-40"]]
    )
    func `an archive without a MAC is opened, and a wrong passphrase is named as the fault`(options: [String]) throws {
        let path = try archive(["-nomac"] + options)
        let read = try TLSIdentity(pkcs12Path: path, passphrase: Self.passphrase)
        #expect(read.summary == identity.summary)
        #expect(error { _ = try TLSIdentity(pkcs12Path: path, passphrase: "wrong") }?.code == .wrongPassphrase)
        #expect(error { _ = try TLSIdentity(pkcs12Path: path) }?.code == .passphraseRequired)
    }

    @Test func `an archive without a MAC and without encryption needs no passphrase`() throws {
        let path = try archive(["-nomac", "-keypbe", "NONE", "-certpbe", "NONE"])
        for passphrase in ["", "any"] {
            #expect(try TLSIdentity(pkcs12Path: path, passphrase: passphrase).summary == identity.summary)
        }
    }

    @Test func `nested bags are opened, and bags of another kind are skipped`() throws {
        let path = try archive(["-nomac", "-keypbe", "NONE", "-certpbe", "NONE"])
        let plain = try Array(Data(contentsOf: URL(filePath: path)))
        let nested = Self.nested(plain)
        #expect(try TLSIdentity(pkcs12: nested, passphrase: "").summary == identity.summary)
        #expect(try TLSIdentity(pkcs12: Self.nested(nested), passphrase: "").summary == identity.summary)
        let deep = (0..<9).reduce(plain) { archive, _ in Self.nested(archive) }
        #expect(error { _ = try TLSIdentity(pkcs12: deep, passphrase: "") } != nil)
    }

    @Test func `a wrong passphrase is named as the fault even if one PEM file has two encrypted keys`() throws {
        let closed = try identity.privateKeyPEM(passphrase: "secret") + identity.privateKeyPEM(passphrase: "secret")
        let wrong = error {
            _ = try TLSIdentity(certificateChain: identity.certificateChainPEM, privateKey: closed, passphrase: "no")
        }
        #expect(wrong?.code == .wrongPassphrase)
        let missing = error { _ = try TLSIdentity(certificateChain: identity.certificateChainPEM, privateKey: closed) }
        #expect(missing?.code == .passphraseRequired)
    }

    @Test func `two keys in one PEM file are named by place, kind and public key, and neither is chosen`() throws {
        let other = try ThrowAwayCA().client(key: .p256)
        let both = try identity.privateKeyPEM() + identity.certificateChainPEM + other.privateKeyPEM()
        let path = try directory.write("both.pem", both)
        let error = try #require(error { _ = try TLSIdentity(certificatePath: path) })
        #expect(error.code == .severalPrivateKeys)
        for words in [path, "2 private keys", "1. RSA 2048", "2. prime256v1", try publicKeyDigest(plain)] {
            #expect(error.description.contains(words), "\(error)")
        }
        // The same key twice is one key.
        let twice = try identity.privateKeyPEM() + identity.privateKeyPEM()
        let read = try TLSIdentity(certificateChain: identity.certificateChainPEM, privateKey: twice)
        #expect(read.summary == identity.summary)
        // A key that cannot be opened also counts.
        let closed = try identity.privateKeyPEM() + other.privateKeyPEM(passphrase: "secret")
        let unread = self.error {
            _ = try TLSIdentity(certificateChain: identity.certificateChainPEM, privateKey: closed)
        }
        #expect(unread?.code == .severalPrivateKeys)
        #expect(unread?.description.contains("2. one that cannot be read") == true)
    }

    @Test(
        arguments: [["-keypbe", "AES-256-CBC"], ["-keypbe", "PBE-SHA1-RC4-128"]]
    )
    func `two keys in one PKCS#12 archive are named`(options: [String]) throws {
        let other = try ThrowAwayCA().client(key: .p256)
        let otherChain = try directory.write("other.pem", other.certificateChainPEM)
        let otherKey = try directory.write("other.key", other.privateKeyPEM())
        let archives = try [
            archive(["-nomac"] + options), archive(["-nomac", "-in", otherChain, "-inkey", otherKey] + options),
        ]
        let joined = Self.joined(try archives.map { try Array(Data(contentsOf: URL(filePath: $0))) })
        let error = try #require(error { _ = try TLSIdentity(pkcs12: joined, passphrase: Self.passphrase) })
        #expect(error.code == .severalPrivateKeys)
        for words in ["2 private keys", "1. RSA 2048", "2. prime256v1", try publicKeyDigest(plain)] {
            #expect(error.description.contains(words), "\(error)")
        }
        // The same key twice is one key.
        let same = Self.joined([try Array(Data(contentsOf: URL(filePath: archives[0])))].flatMap { [$0, $0] })
        #expect(try TLSIdentity(pkcs12: same, passphrase: Self.passphrase).summary == identity.summary)
    }

    /// Joins the contents of several archives into one without a MAC, because the openssl program puts only one key
    /// into an archive.
    private static func joined(_ archives: [[UInt8]]) -> [UInt8] { DER.archive(archives.flatMap { DER.parts($0) }) }

    /// Puts each bag of an archive into another bag, after a part of an unknown kind.
    private static func nested(_ archive: [UInt8]) -> [UInt8] {
        let unknown = DER.element(0x30, [6, 2, 0x2A, 3] + DER.element(0xA0, [5, 0]))
        var rest = DER.parts(archive)[...]
        var parts = unknown
        while !rest.isEmpty {
            let part = DER.first(rest)
            rest = rest[part.endIndex...]
            let info = DER.contents(part)
            guard info.starts(with: DER.data) else { continue }
            let bags = Array(DER.contents(DER.contents(info.dropFirst(DER.data.count))))
            let nested = DER.element(0x30, DER.element(0x30, DER.safeContentsBag + DER.element(0xA0, bags)))
            parts += DER.element(0x30, DER.data + DER.element(0xA0, DER.element(4, nested)))
        }
        return DER.archive(parts)
    }

    /// The minimum of DER for taking an archive apart. A PFX is a SEQUENCE of a version and a ContentInfo. Its data is
    /// the SEQUENCE of the parts (RFC 7292, 4).
    private enum DER {
        static let version: [UInt8] = [2, 1, 3]
        static let data: [UInt8] = [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 1]
        static let safeContentsBag: [UInt8] = [6, 11, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 12, 10, 1, 6]

        static func first(_ der: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
            der[der.startIndex..<contents(der).endIndex]
        }

        static func contents(_ der: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
            let start = der.startIndex
            let long = der[start + 1] & 0x80 == 0 ? 0 : Int(der[start + 1] & 0x7F)
            let length =
                long == 0 ? Int(der[start + 1]) : der[start + 2..<start + 2 + long].reduce(0) { $0 << 8 | Int($1) }
            return der[start + 2 + long..<start + 2 + long + length]
        }

        static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
            let length = contents.count
            let long: [UInt8] = [UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 8)]
            return [tag, 0x83] + long + [UInt8(truncatingIfNeeded: length)] + contents
        }

        static func parts(_ archive: [UInt8]) -> ArraySlice<UInt8> {
            let info = contents(contents(archive[...]).dropFirst(version.count))
            return contents(contents(contents(info.dropFirst(data.count))))
        }

        static func archive(_ parts: [UInt8]) -> [UInt8] {
            element(0x30, version + element(0x30, data + element(0xA0, element(4, element(0x30, parts)))))
        }
    }

    /// The first digits of the public key's digest, from the `openssl` program.
    private func publicKeyDigest(_ key: String) throws -> String {
        let der = directory.path("public.der")
        try OpenSSLTool.run(["pkey", "-in", key, "-pubout", "-outform", "DER", "-out", der])
        let output = try OpenSSLTool.run(["dgst", "-sha256", "-r", der])
        return String(output.prefix(16))
    }
}
