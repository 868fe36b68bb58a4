internal import CFerryOpenSSL

/// A reader of one private key in a PEM text.
struct EncryptedKeyReader {
    var passphrase: String?
    /// The text's name in errors.
    var source: String

    /// The reason why an attempt to read the key failed.
    private enum Failure: Error {
        case noPassphrase([TLSError.Cause])
        case wrongPassphrase([TLSError.Cause])
        case unsupported([TLSError.Cause])
        case malformed([TLSError.Cause])
    }

    /// Reads the key. Uses OpenSSL's legacy provider only if the default one does not know the key's encryption.
    ///
    /// - Throws: `passphraseRequired`, `wrongPassphrase`, `legacyAlgorithm`, `malformed`.
    func read(_ bytes: [UInt8]) throws(TLSError) -> PEM.PrivateKey {
        do {
            return PEM.PrivateKey(key: try self.decode(bytes))
        } catch {
            guard case .unsupported(let causes) = error else { throw self.error(error) }
            return PEM.PrivateKey(key: try self.readLegacy(bytes, causes), neededLegacyProvider: true)
        }
    }

    /// Returns a description of the key that is safe to show; nil if the key cannot be read.
    func describe(_ bytes: [UInt8]) -> KeyDescription? {
        guard let read = try? self.read(bytes) else { return nil }
        return KeyDescription(read.key)
    }

    private func readLegacy(_ bytes: [UInt8], _ causes: [TLSError.Cause]) throws(TLSError) -> OwnedKey {
        guard let library = LegacyLibrary() else {
            ErrorQueue.clear()
            throw TLSError(
                .legacyAlgorithm,
                "The private key in \(self.source) is encrypted with an old algorithm (such as DES or RC2) that needs OpenSSL's "
                    + "legacy provider, which is not installed; install it, or encrypt the key again with AES.",
                causes: causes
            )
        }
        let der: [UInt8]?
        do {
            der = try library.asDefault { () throws(Failure) in
                let key = try self.decode(bytes)
                let pointer = key.pointer
                return encodedDER { i2d_PrivateKey(pointer, $0) }
            }
        } catch {
            throw self.error(error)
        }
        // The key belongs to the private library, which ends here. Copy it by its DER form.
        guard let der, let key = OwnedKey(decodedDER(der) { d2i_AutoPrivateKey(nil, $0, $1) }) else {
            throw .openSSL(.malformed, "The private key in \(self.source) is of an unknown kind.")
        }
        return key
    }

    private func decode(_ bytes: [UInt8]) throws(Failure) -> OwnedKey {
        guard let bio = MemoryBIO(bytes) else { throw .malformed([]) }
        var prompt = PassphrasePrompt(passphrase: self.passphrase.map { Array($0.utf8) })
        ErrorQueue.clear()
        // Without a callback, OpenSSL would ask for the passphrase on the terminal.
        let pointer = withUnsafeMutablePointer(to: &prompt) { prompt in
            PEM_read_bio_PrivateKey(bio.pointer, nil, passphraseCallback, prompt)
        }
        if let key = OwnedKey(pointer) { return key }
        let entries = ErrorQueue.drain()
        let causes = entries.map(\.cause)
        if prompt.wasAsked, self.passphrase == nil { throw .noPassphrase(causes) }
        if entries.contains(ERR_LIB_PEM, PEM_R_UNSUPPORTED_ENCRYPTION) { throw .unsupported(causes) }
        // OpenSSL also says "unsupported" about bytes that are not a key: a damaged key, or the output of a stream
        // cipher after a wrong passphrase.
        guard prompt.wasAsked else { throw .malformed(causes) }
        let isKnown = !entries.haveUnsupported || entries.contains { $0.library == ERR_LIB_ASN1 }
        throw isKnown ? .wrongPassphrase(causes) : .unsupported(causes)
    }

    private func error(_ failure: Failure) -> TLSError {
        switch failure {
        case .noPassphrase(let causes):
            TLSError(
                .passphraseRequired,
                "The private key in \(self.source) is encrypted; give its passphrase.",
                causes: causes
            )
        case .wrongPassphrase(let causes):
            TLSError(
                .wrongPassphrase,
                "The passphrase does not open the private key in \(self.source).",
                causes: causes
            )
        case .unsupported(let causes):
            TLSError(
                .legacyAlgorithm,
                "The private key in \(self.source) is encrypted with an algorithm that neither OpenSSL's default nor its legacy "
                    + "provider knows; encrypt it again with AES.",
                causes: causes
            )
        case .malformed(let causes):
            TLSError(.malformed, "The private key in \(self.source) is damaged or of an unknown kind.", causes: causes)
        }
    }
}

private struct PassphrasePrompt {
    var passphrase: [UInt8]?
    var wasAsked = false
}

/// Gives OpenSSL the passphrase; -1 means that there is no passphrase.
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
