internal import CFerryOpenSSL

/// A reader of a PKCS#12 archive. It uses the algorithms of the thread's default library context. ``PKCS12`` reads an
/// archive a second time, with those of the legacy provider.
struct ArchiveReader {
    var passphrase: String
    /// The archive's name in errors.
    var source: String

    enum Failure: Error {
        /// OpenSSL does not know an algorithm.
        case unsupported([TLSError.Cause])
        case fault(TLSError)
    }

    func read(_ bytes: [UInt8]) throws(Failure) -> PKCS12.Contents {
        ErrorQueue.clear()
        guard let file = OwnedPKCS12(decodedDER(bytes) { d2i_PKCS12(nil, $0, $1) }) else {
            throw .fault(.openSSL(.malformed, "\(self.source) is not a PKCS#12 file, or it is damaged."))
        }
        let hasMAC = PKCS12_mac_present(file.pointer) == 1
        // An empty passphrase has two encodings, and both are in use.
        let encoding = self.passphrase.isEmpty && self.verifies(nil, file.pointer) ? nil : self.passphrase
        if hasMAC, !self.verifies(encoding, file.pointer) {
            let entries = ErrorQueue.drain()
            throw entries.haveUnsupported ? .unsupported(entries.map(\.cause)) : .fault(self.wrongPassphrase)
        }
        guard let certificates = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new()) else {
            throw .fault(.openSSL(.internalFailure, "OpenSSL has no memory for a certificate."))
        }
        var found = Found()
        guard self.collect(from: file.pointer, encoding, &found, certificates) else {
            let entries = ErrorQueue.drain()
            if entries.haveUnsupported { throw .unsupported(entries.map(\.cause)) }
            // Without a MAC, a wrong passphrase shows only at the decryption.
            throw .fault(
                hasMAC
                    ? TLSError(
                        .malformed,
                        "\(self.source) is damaged: its passphrase is right, and its parts cannot be read."
                    )
                    : self.wrongPassphrase
            )
        }
        ErrorQueue.clear()
        guard Set(found.keys).count < 2 else { throw .fault(KeyDescription.several(found.keys, in: self.source)) }
        guard let key = found.first.take() else {
            throw .fault(TLSError(.noPrivateKey, "\(self.source) holds no private key."))
        }
        guard certificates.count > 0 else {
            throw .fault(TLSError(.noCertificate, "\(self.source) holds no certificate."))
        }
        return PKCS12.Contents(key: key, certificates: certificates)
    }

    /// Returns the error for a failure if there is no other provider to ask.
    func error(_ failure: Failure) -> TLSError {
        switch failure {
        case .fault(let error): error
        case .unsupported(let causes):
            TLSError(
                .legacyAlgorithm,
                "\(self.source) is protected with algorithms that neither OpenSSL's default nor its legacy provider knows; "
                    + "export the file again with AES, and with SHA-256 for its integrity.",
                causes: causes
            )
        }
    }

    private var wrongPassphrase: TLSError {
        self.passphrase.isEmpty
            ? TLSError(.passphraseRequired, "\(self.source) is protected; give its passphrase.")
            : TLSError(.wrongPassphrase, "The passphrase does not open \(self.source).")
    }

    private func verifies(_ passphrase: String?, _ file: OpaquePointer) -> Bool {
        ErrorQueue.clear()
        return PKCS12_verify_mac(file, passphrase, Int32(passphrase?.utf8.count ?? 0)) == 1
    }

    // MARK: Bags

    private struct Found: ~Copyable {
        /// The descriptions of all keys, in the order of the archive.
        var keys: [KeyDescription] = []
        var first: OwnedKey?
    }

    /// Collects keys and certificates. False if a part cannot be decrypted; the reasons are then in the error queue.
    ///
    /// OpenSSL's own `PKCS12_parse` takes the first key and ignores the others, and it refuses archives without a MAC.
    private func collect(
        from file: OpaquePointer,
        _ passphrase: String?,
        _ found: inout Found,
        _ certificates: borrowing OwnedCertificateStack
    ) -> Bool {
        ErrorQueue.clear()
        guard let parts = PKCS12_unpack_authsafes(file) else { return false }
        defer { CFerryOpenSSL_sk_PKCS7_free(parts) }
        let length = Int32(passphrase?.utf8.count ?? 0)
        for index in 0..<CFerryOpenSSL_sk_PKCS7_count(parts) {
            let part = CFerryOpenSSL_sk_PKCS7_value(parts, index)
            // A passphrase cannot open a part that is encrypted for a certificate.
            guard CFerryOpenSSL_PKCS12_hasBags(part) == 1 else { continue }
            guard let bags = CFerryOpenSSL_PKCS12_bags(part, passphrase, length) else { return false }
            defer { CFerryOpenSSL_sk_SAFEBAG_free(bags) }
            guard self.takeAll(bags, passphrase, &found, certificates, depth: 0) else { return false }
        }
        return true
    }

    /// The limit of bags inside bags. Without a limit, an archive could use up the stack.
    private static let depthLimit = 8

    private func takeAll(
        _ bags: OpaquePointer?,
        _ passphrase: String?,
        _ found: inout Found,
        _ certificates: borrowing OwnedCertificateStack,
        depth: Int
    ) -> Bool {
        guard depth < Self.depthLimit else { return false }
        for index in 0..<CFerryOpenSSL_sk_SAFEBAG_count(bags) {
            guard let bag = CFerryOpenSSL_sk_SAFEBAG_value(bags, index) else { continue }
            guard self.take(bag, passphrase, &found, certificates, depth: depth) else { return false }
        }
        return true
    }

    private func take(
        _ bag: OpaquePointer,
        _ passphrase: String?,
        _ found: inout Found,
        _ certificates: borrowing OwnedCertificateStack,
        depth: Int
    ) -> Bool {
        switch PKCS12_SAFEBAG_get_nid(bag) {
        case NID_keyBag:
            return self.take(PKCS12_SAFEBAG_get0_p8inf(bag), &found)
        case NID_pkcs8ShroudedKeyBag:
            let length = Int32(passphrase?.utf8.count ?? 0)
            guard let opened = OwnedPKCS8(PKCS12_decrypt_skey(bag, passphrase, length)) else { return false }
            return self.take(opened.pointer, &found)
        case NID_certBag where PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate:
            guard let certificate = OwnedCertificate(PKCS12_SAFEBAG_get1_cert(bag)) else { return false }
            certificates.append(certificate.pointer)
            return true
        case NID_safeContentsBag:
            return self.takeAll(PKCS12_SAFEBAG_get0_safes(bag), passphrase, &found, certificates, depth: depth + 1)
        default:
            return true
        }
    }

    private func take(_ pkcs8: OpaquePointer?, _ found: inout Found) -> Bool {
        guard let pkcs8, let key = OwnedKey(EVP_PKCS82PKEY(pkcs8)) else { return false }
        found.keys.append(KeyDescription(key))
        if found.keys.count == 1 { found.first = consume key }
        return true
    }
}
