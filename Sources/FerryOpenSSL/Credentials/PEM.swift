internal import CFerryOpenSSL

/// Certificates and keys in PEM form, or in DER form if a file holds just one of them.
enum PEM {
    /// Returns all certificates, in the order of the text. See ``PEMText`` for text that lost its line breaks.
    ///
    /// - Throws: `noCertificate` if there is no certificate, `malformed` if one is damaged.
    static func certificates(_ bytes: [UInt8], source: String) throws(TLSError) -> OwnedCertificateStack {
        let bytes = PEMText.repaired(bytes)
        guard let stack = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new()), let bio = MemoryBIO(bytes) else {
            throw .openSSL(.internalFailure, "OpenSSL has no memory for a certificate.")
        }
        ErrorQueue.clear()
        if !self.isText(bytes) {
            guard let certificate = OwnedCertificate(decodedDER(bytes) { d2i_X509(nil, $0, $1) }) else {
                throw .openSSL(.noCertificate, "\(source) holds no certificate, neither in PEM nor in DER form.")
            }
            stack.append(certificate.pointer)
            return stack
        }
        while let certificate = OwnedCertificate(PEM_read_bio_X509(bio.pointer, nil, nil, nil)) {
            stack.append(certificate.pointer)
        }
        // OpenSSL reports the end of the text through the queue, too.
        let entries = ErrorQueue.drain()
        guard entries.allSatisfy({ $0.library == ERR_LIB_PEM && $0.reason == PEM_R_NO_START_LINE }) else {
            throw TLSError(.malformed, "A certificate in \(source) is damaged.", causes: entries.map(\.cause))
        }
        guard stack.count > 0 else {
            throw TLSError(.noCertificate, "\(source) holds no certificate (\"BEGIN CERTIFICATE\").")
        }
        return stack
    }

    /// Reads certificates that need no key, as ``certificates(_:source:)`` does. The error names credentials of another kind.
    static func certificatesAlone(_ bytes: [UInt8], source: String) throws(TLSError) -> OwnedCertificateStack {
        do {
            return try self.certificates(bytes, source: source)
        } catch  where error.code == .noCertificate {
            throw WrongCredentials(source: source, wanted: .certificatesAlone, form: CredentialForm(bytes))
                .explaining(error)
        }
    }

    /// The private key of a file, and whether only OpenSSL's legacy provider could decrypt it.
    struct PrivateKey: ~Copyable {
        var key: OwnedKey
        var neededLegacyProvider = false
    }

    /// Returns the only private key, in PKCS#8, PKCS#1 or SEC 1. It may be encrypted, also by the algorithms of old
    /// tools (DES, RC2). See ``PEMText`` for text that lost its line breaks.
    ///
    /// - Throws: `noPrivateKey`, `severalPrivateKeys`, `passphraseRequired`, `wrongPassphrase`, `legacyAlgorithm`,
    ///   `malformed`.
    static func privateKey(_ bytes: [UInt8], passphrase: String?, source: String) throws(TLSError) -> PrivateKey {
        let bytes = PEMText.repaired(bytes)
        guard self.isText(bytes) else {
            ErrorQueue.clear()
            guard let bio = MemoryBIO(bytes), let key = OwnedKey(d2i_PrivateKey_bio(bio.pointer, nil)) else {
                throw .openSSL(.noPrivateKey, "\(source) holds no private key, neither in PEM nor in DER form.")
            }
            return PrivateKey(key: key)
        }
        let blocks = self.blocks(of: bytes)
        guard let first = blocks.first else {
            throw TLSError(.noPrivateKey, "\(source) holds no private key (\"BEGIN PRIVATE KEY\").")
        }
        let reader = EncryptedKeyReader(passphrase: passphrase, source: source)
        // A single block is read with all the text around it.
        if blocks.count == 1 { return try reader.read(bytes) }
        let keys = blocks.map { reader.describe($0) }
        // If no key can be read, the passphrase is wrong, and the error of the first key says so.
        guard Set(keys).count == 1 else { throw KeyDescription.several(keys, in: source) }
        return try reader.read(first)
    }

    /// Returns the text of each private key, from its first line to its last.
    private static func blocks(of bytes: [UInt8]) -> [[UInt8]] {
        var blocks: [[UInt8]] = []
        var rest = bytes[...]
        while let start = rest.firstRange(of: Array("-----BEGIN ".utf8)) {
            let line = rest[start.lowerBound...].prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            rest = rest[line.endIndex...]
            guard line.firstRange(of: Array("PRIVATE KEY-----".utf8)) != nil else { continue }
            let end = rest.firstRange(of: Array("-----END ".utf8))?.lowerBound ?? rest.endIndex
            let last = rest[end...].prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            blocks.append(Array(line) + rest[..<end] + last + [UInt8(ascii: "\n")])
            rest = rest[last.endIndex...]
        }
        return blocks
    }

    static func isText(_ bytes: [UInt8]) -> Bool { bytes.firstRange(of: Array("-----BEGIN ".utf8)) != nil }
}
