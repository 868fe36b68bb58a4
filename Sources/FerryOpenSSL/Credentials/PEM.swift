internal import CFerryOpenSSL

/// Certificates and keys in PEM form, or in DER form where a file holds just one of them.
enum PEM {
    /// All certificates, in the order of the text.
    ///
    /// - Throws: `noCertificate` when there is none, `malformed` when one is damaged.
    static func certificates(_ bytes: [UInt8], source: String) throws(TLSError) -> OwnedCertificateStack {
        guard let stack = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new()), let bio = MemoryBIO(bytes) else {
            throw .openSSL(.internalFailure, "OpenSSL has no memory for a certificate.")
        }
        ErrorQueue.clear()
        if !isText(bytes) {
            guard let certificate = OwnedCertificate(decodedDER(bytes) { d2i_X509(nil, $0, $1) }) else {
                throw .openSSL(.noCertificate, "\(source) holds no certificate, neither in PEM nor in DER form.")
            }
            stack.append(certificate.pointer)
            return stack
        }
        while let certificate = OwnedCertificate(PEM_read_bio_X509(bio.pointer, nil, nil, nil)) {
            stack.append(certificate.pointer)
        }
        // The end of the text, too, is told through the queue.
        let entries = ErrorQueue.drain()
        guard entries.allSatisfy({ $0.library == ERR_LIB_PEM && $0.reason == PEM_R_NO_START_LINE }) else {
            throw TLSError(.malformed, "A certificate in \(source) is damaged.", causes: entries.map(\.cause))
        }
        guard stack.count > 0 else {
            throw TLSError(.noCertificate, "\(source) holds no certificate (\"BEGIN CERTIFICATE\").")
        }
        return stack
    }

    /// The first private key: PKCS#8, PKCS#1 or SEC 1, encrypted or not.
    ///
    /// - Throws: `noPrivateKey`, `passphraseRequired`, `wrongPassphrase`, `malformed`.
    static func privateKey(_ bytes: [UInt8], passphrase: String?, source: String) throws(TLSError) -> OwnedKey {
        guard let bio = MemoryBIO(bytes) else {
            throw .openSSL(.internalFailure, "OpenSSL has no memory for a private key.")
        }
        guard isText(bytes) else {
            ErrorQueue.clear()
            if let key = OwnedKey(d2i_PrivateKey_bio(bio.pointer, nil)) { return key }
            throw .openSSL(.noPrivateKey, "\(source) holds no private key, neither in PEM nor in DER form.")
        }
        guard contains("PRIVATE KEY-----", in: bytes) else {
            throw TLSError(.noPrivateKey, "\(source) holds no private key (\"BEGIN PRIVATE KEY\").")
        }
        var prompt = PassphrasePrompt(passphrase: passphrase.map { Array($0.utf8) })
        ErrorQueue.clear()
        // Without a callback OpenSSL would ask on the terminal.
        let pointer = withUnsafeMutablePointer(to: &prompt) { prompt in
            PEM_read_bio_PrivateKey(bio.pointer, nil, passphraseCallback, prompt)
        }
        if let key = OwnedKey(pointer) { return key }
        let causes = ErrorQueue.drain().map(\.cause)
        guard prompt.wasAsked else {
            throw TLSError(.malformed, "The private key in \(source) is damaged or of an unknown kind.", causes: causes)
        }
        guard passphrase != nil else {
            throw TLSError(
                .passphraseRequired,
                "The private key in \(source) is encrypted; give its passphrase.",
                causes: causes
            )
        }
        throw TLSError(.wrongPassphrase, "The passphrase does not open the private key in \(source).", causes: causes)
    }

    static func isText(_ bytes: [UInt8]) -> Bool {
        contains("-----BEGIN ", in: bytes)
    }

    private static func contains(_ text: StaticString, in bytes: [UInt8]) -> Bool {
        let needle = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return bytes.indices.contains { bytes[$0...].starts(with: needle) }
    }
}

private struct PassphrasePrompt {
    var passphrase: [UInt8]?
    var wasAsked = false
}

/// Gives OpenSSL the passphrase; -1 says that there is none.
private func passphraseCallback(
    buffer: UnsafeMutablePointer<CChar>?,
    size: Int32,
    isForWriting: Int32,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let buffer, let prompt = context?.assumingMemoryBound(to: PassphrasePrompt.self) else { return -1 }
    prompt.pointee.wasAsked = true
    guard let passphrase = prompt.pointee.passphrase, passphrase.count <= Int(size) else { return -1 }
    for (index, byte) in passphrase.enumerated() { buffer[index] = CChar(bitPattern: byte) }
    return Int32(passphrase.count)
}
