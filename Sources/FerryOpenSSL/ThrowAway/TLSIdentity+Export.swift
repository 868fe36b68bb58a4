internal import CFerryOpenSSL

extension TLSIdentity {
    /// The certificate and its chain as PEM text.
    package var certificateChainPEM: [UInt8] {
        let material = self.material
        let chain = (0..<material.chain.count).map { material.chain.element($0) }
        return certificatePEMBytes([material.certificate.pointer] + chain)
    }

    /// Returns the private key as PEM text (PKCS#8), encrypted with AES-256 if a passphrase is given.
    ///
    /// - Throws: ``TLSError`` with `internalFailure`.
    package func privateKeyPEM(passphrase: String? = nil) throws(TLSError) -> [UInt8] {
        try pemBytes(key: self.material.key.pointer, passphrase: passphrase)
    }

    /// The encryption of a PKCS#12 archive.
    package enum ArchiveEncryption: Sendable {
        /// AES-256 with PBKDF2.
        case modern
        /// Triple DES with SHA-1, which Java 6 and OpenSSL 0.9.8 read. OpenSSL 3 reads it without its legacy provider.
        case tripleDES
        /// RC2-40 for certificates and triple DES for keys, as old keychains did.
        case legacy
    }

    /// Returns certificate, chain and key as a PKCS#12 archive.
    ///
    /// - Throws: ``TLSError`` with `internalFailure`, or `legacyAlgorithm` if OpenSSL's legacy provider is missing.
    package func pkcs12(
        passphrase: String,
        encryption: ArchiveEncryption = .modern
    ) throws(TLSError) -> [UInt8] {
        ErrorQueue.clear()
        switch encryption {
        case .modern:
            return try self.archive(
                passphrase: passphrase,
                key: NID_aes_256_cbc,
                certificate: NID_aes_256_cbc,
                library: nil
            )
        case .tripleDES:
            return try self.archive(
                passphrase: passphrase,
                key: NID_pbe_WithSHA1And3_Key_TripleDES_CBC,
                certificate: NID_pbe_WithSHA1And3_Key_TripleDES_CBC,
                digest: EVP_sha1(),
                library: nil
            )
        case .legacy:
            guard let library = LegacyLibrary() else {
                throw .openSSL(.legacyAlgorithm, "OpenSSL's legacy provider is not installed.")
            }
            return try self.archive(
                passphrase: passphrase,
                key: NID_pbe_WithSHA1And3_Key_TripleDES_CBC,
                certificate: NID_pbe_WithSHA1And40BitRC2_CBC,
                digest: EVP_sha1(),
                library: library.pointer
            )
        }
    }

    /// The rounds of a key's derivation, for key and checksum: OpenSSL's own default (`PKCS12_DEFAULT_ITER`).
    private static let iterations: Int32 = 2_048

    /// - Parameter digest: of the checksum over the archive; nil for SHA-256. Java 7 knows SHA-1 alone.
    private func archive(
        passphrase: String,
        key keyCipher: Int32,
        certificate certificateCipher: Int32,
        digest: OpaquePointer? = nil,
        library: OpaquePointer?
    ) throws(TLSError) -> [UInt8] {
        let made = OwnedPKCS12(
            PKCS12_create_ex(
                passphrase,
                self.summary.commonName ?? "identity",
                self.material.key.pointer,
                self.material.certificate.pointer,
                self.material.chain.pointer,
                keyCipher,
                certificateCipher,
                Self.iterations,
                // The checksum is added below, because this function does not let its digest be chosen.
                -1,
                0,
                library,
                nil
            )
        )
        guard let made, PKCS12_set_mac(made.pointer, passphrase, -1, nil, 0, Self.iterations, digest) == 1 else {
            throw .openSSL(.internalFailure, "OpenSSL cannot make a PKCS#12 archive.")
        }
        let pointer = made.pointer
        guard let bytes = encodedDER({ i2d_PKCS12(pointer, $0) }) else {
            throw .openSSL(.internalFailure, "OpenSSL cannot write a PKCS#12 archive.")
        }
        return bytes
    }
}

func certificatePEMBytes(_ certificates: [OpaquePointer]) -> [UInt8] {
    bytesWritten { bio in
        certificates.allSatisfy { PEM_write_bio_X509(bio, $0) == 1 } ? 1 : 0
    } ?? []
}
