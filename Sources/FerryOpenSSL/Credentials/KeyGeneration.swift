internal import CFerryOpenSSL

/// The kinds of key that Ferry makes.
package enum KeyKind: Sendable, Hashable {
    /// Elliptic curve P-256: made in microseconds.
    case p256
    /// Elliptic curve P-384, as Apple's roots have.
    case p384
    /// RSA of 2048 bits: old clients understand it; takes some 100 ms to make.
    case rsa2048
    /// RSA of 1024 bits: refused by default, for tests of that refusal.
    case rsa1024
}

func generateKey(_ kind: KeyKind) throws(TLSError) -> OwnedKey {
    ErrorQueue.clear()
    let pointer =
        switch kind {
        case .p256: CFerryOpenSSL_generate_P256()
        case .p384: CFerryOpenSSL_generate_P384()
        case .rsa2048: CFerryOpenSSL_generate_RSA(2048)
        case .rsa1024: CFerryOpenSSL_generate_RSA(1024)
        }
    guard let key = OwnedKey(pointer) else { throw .openSSL(.internalFailure, "OpenSSL cannot make a key.") }
    return key
}

/// Returns a key as PEM text: PKCS#8, encrypted with AES-256 if a passphrase is given.
func pemBytes(key: OpaquePointer, passphrase: String? = nil) throws(TLSError) -> [UInt8] {
    ErrorQueue.clear()
    let passphrase = passphrase.map { $0.utf8.map { CChar(bitPattern: $0) } }
    let bytes = bytesWritten { bio in
        PEM_write_bio_PKCS8PrivateKey(
            bio,
            key,
            passphrase == nil ? nil : EVP_aes_256_cbc(),
            passphrase,
            Int32(passphrase?.count ?? 0),
            nil,
            nil
        )
    }
    guard let bytes else { throw .openSSL(.internalFailure, "OpenSSL cannot write a key.") }
    return bytes
}

/// Returns the name of an elliptic-curve key's group, such as "prime256v1".
func keyGroup(_ key: OpaquePointer) -> String? {
    var name = [CChar](repeating: 0, count: 64)
    var length = 0
    guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else {
        ErrorQueue.clear()
        return nil
    }
    return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
