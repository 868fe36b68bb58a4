internal import CFerryOpenSSL

/// PKCS#12 files, as keychains and old Windows tools export them.
enum PKCS12 {
    /// Key, certificate and chain, all held by OpenSSL's default library context.
    struct Contents: ~Copyable {
        var key: OwnedKey
        var certificates: OwnedCertificateStack
        /// Whether the file's algorithms are so old that OpenSSL's legacy provider had to read them.
        var neededLegacyProvider = false
    }

    /// The same contents as DER bytes, which need no library context.
    private struct Encoded {
        var key: [UInt8]
        var certificates: [[UInt8]]
    }

    /// Opens a file. Uses OpenSSL's legacy provider only if the default one does not know the file's algorithms.
    ///
    /// - Throws: `malformed`, `passphraseRequired`, `wrongPassphrase`, `legacyAlgorithm`, `noCertificate`,
    ///   `noPrivateKey`, `severalPrivateKeys`.
    static func open(_ bytes: [UInt8], passphrase: String, source: String) throws(TLSError) -> Contents {
        let reader = ArchiveReader(passphrase: passphrase, source: source)
        let bytes = PEMText.repaired(bytes)
        do {
            return try reader.read(bytes)
        } catch {
            guard case .unsupported(let causes) = error else { throw reader.error(error) }
            guard let library = LegacyLibrary() else {
                ErrorQueue.clear()
                throw TLSError(
                    .legacyAlgorithm,
                    "\(source) is encrypted with old algorithms (such as RC2-40) that need OpenSSL's legacy provider, which "
                        + "is not installed; install it, or export the file again with AES.",
                    causes: causes
                )
            }
            return try self.openLegacy(bytes, reader, library)
        }
    }

    private static func openLegacy(
        _ bytes: [UInt8],
        _ reader: ArchiveReader,
        _ library: borrowing LegacyLibrary
    ) throws(TLSError) -> Contents {
        let encoded: Encoded?
        do {
            encoded = try library.asDefault { () throws(ArchiveReader.Failure) in self.encode(try reader.read(bytes)) }
        } catch {
            throw reader.error(error)
        }
        // The parts belong to the private library, which ends here. Copy them by their DER form.
        guard let encoded, let key = OwnedKey(decodedDER(encoded.key) { d2i_AutoPrivateKey(nil, $0, $1) }),
            let certificates = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new())
        else { throw .openSSL(.malformed, "The private key in \(reader.source) is of an unknown kind.") }
        for der in encoded.certificates {
            guard let copy = OwnedCertificate(decodedDER(der) { d2i_X509(nil, $0, $1) }) else {
                throw .openSSL(.malformed, "A certificate in \(reader.source) is damaged.")
            }
            certificates.append(copy.pointer)
        }
        return Contents(key: key, certificates: certificates, neededLegacyProvider: true)
    }

    private static func encode(_ contents: consuming Contents) -> Encoded? {
        let key = contents.key.pointer
        guard let encodedKey = encodedDER({ i2d_PrivateKey(key, $0) }) else { return nil }
        var encoded = Encoded(key: encodedKey, certificates: [])
        for index in 0..<contents.certificates.count {
            let element = contents.certificates.element(index)
            guard let der = encodedDER({ i2d_X509(element, $0) }) else { return nil }
            encoded.certificates.append(der)
        }
        return encoded
    }
}
