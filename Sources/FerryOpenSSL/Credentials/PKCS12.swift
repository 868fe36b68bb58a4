internal import CFerryOpenSSL

/// PKCS#12 files, as keychains and old Windows tools export them.
enum PKCS12 {
    /// Key, certificate and chain, all held by OpenSSL's default library context.
    struct Contents: ~Copyable {
        var key: OwnedKey
        var certificates: OwnedCertificateStack
        /// The file's algorithms are so old that OpenSSL's legacy provider had to read them.
        var neededLegacyProvider = false
    }

    /// Opens a file; turns to OpenSSL's legacy provider only when the default one does not know the file's algorithms.
    ///
    /// - Throws: `malformed`, `passphraseRequired`, `wrongPassphrase`, `legacyAlgorithm`, `noCertificate`,
    ///   `noPrivateKey`.
    static func open(_ bytes: [UInt8], passphrase: String, source: String) throws(TLSError) -> Contents {
        ErrorQueue.clear()
        guard let file = OwnedPKCS12(decode(bytes, library: nil)) else {
            throw .openSSL(.malformed, "\(source) is not a PKCS#12 file, or it is damaged.")
        }
        guard PKCS12_mac_present(file.pointer) != 1 || isRightPassphrase(passphrase, for: file.pointer) else {
            _ = ErrorQueue.drain()
            throw passphrase.isEmpty
                ? TLSError(.passphraseRequired, "\(source) is protected; give its passphrase.")
                : TLSError(.wrongPassphrase, "The passphrase does not open \(source).")
        }
        if let contents = try parse(file.pointer, passphrase: passphrase, source: source) { return contents }
        let causes = ErrorQueue.drain().map(\.cause)
        guard let legacy = LegacyLibrary() else {
            ErrorQueue.clear()
            throw TLSError(
                .legacyAlgorithm,
                "\(source) is encrypted with old algorithms (such as RC2-40) that need OpenSSL's legacy provider, which "
                    + "is not installed; install it, or export the file again with AES.",
                causes: causes
            )
        }
        return try openLegacy(bytes, passphrase: passphrase, source: source, library: legacy)
    }

    private static func openLegacy(
        _ bytes: [UInt8],
        passphrase: String,
        source: String,
        library: borrowing LegacyLibrary
    ) throws(TLSError) -> Contents {
        guard let file = OwnedPKCS12(decode(bytes, library: library.pointer)),
            let foreign = try parse(file.pointer, passphrase: passphrase, source: source)
        else {
            throw .openSSL(
                .legacyAlgorithm,
                "\(source) is encrypted with algorithms that neither OpenSSL's default nor its legacy provider knows; "
                    + "export the file again with AES."
            )
        }
        // The parts belong to the private library, which ends here: carry them over in their DER form.
        let foreignKey = foreign.key.pointer
        guard let der = encodedDER({ i2d_PrivateKey(foreignKey, $0) }),
            let key = OwnedKey(decodedDER(der) { d2i_AutoPrivateKey(nil, $0, $1) }),
            let certificates = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new())
        else { throw .openSSL(.malformed, "The private key in \(source) is of an unknown kind.") }
        for index in 0..<foreign.certificates.count {
            let element = foreign.certificates.element(index)
            guard let der = encodedDER({ i2d_X509(element, $0) }),
                let copy = OwnedCertificate(decodedDER(der) { d2i_X509(nil, $0, $1) })
            else { throw .openSSL(.malformed, "A certificate in \(source) is damaged.") }
            certificates.append(copy.pointer)
        }
        return Contents(key: key, certificates: certificates, neededLegacyProvider: true)
    }

    /// nil when the file cannot be decrypted; then the reasons are in the error queue.
    private static func parse(
        _ file: OpaquePointer,
        passphrase: String,
        source: String
    ) throws(TLSError) -> Contents? {
        var keyPointer: OpaquePointer?
        var leafPointer: OpaquePointer?
        var chainPointer: OpaquePointer?
        ErrorQueue.clear()
        let parsed = PKCS12_parse(file, passphrase, &keyPointer, &leafPointer, &chainPointer)
        let key = OwnedKey(keyPointer)
        let leaf = OwnedCertificate(leafPointer)
        let chain = OwnedCertificateStack(chainPointer)
        guard parsed == 1 else { return nil }
        ErrorQueue.clear()
        guard let key else { throw TLSError(.noPrivateKey, "\(source) holds no private key.") }
        guard let all = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new()) else {
            throw .openSSL(.internalFailure, "OpenSSL has no memory for a certificate.")
        }
        if let leaf { all.append(leaf.pointer) }
        if let chain {
            for index in 0..<chain.count { all.append(chain.element(index)) }
        }
        guard all.count > 0 else { throw TLSError(.noCertificate, "\(source) holds no certificate.") }
        return Contents(key: key, certificates: all)
    }

    private static func decode(_ bytes: [UInt8], library: OpaquePointer?) -> OpaquePointer? {
        guard let library else { return decodedDER(bytes) { d2i_PKCS12(nil, $0, $1) } }
        // The library context is set by decoding into an archive that has it. On failure OpenSSL frees that.
        var target = PKCS12_init_ex(NID_pkcs7_data, library, nil)
        guard target != nil else { return nil }
        return decodedDER(bytes) { d2i_PKCS12(&target, $0, $1) }
    }

    /// An empty passphrase comes in two encodings, and both are in use.
    private static func isRightPassphrase(_ passphrase: String, for file: OpaquePointer) -> Bool {
        let length = Int32(passphrase.utf8.count)
        return PKCS12_verify_mac(file, passphrase, length) == 1
            || passphrase.isEmpty && PKCS12_verify_mac(file, nil, 0) == 1
    }
}
