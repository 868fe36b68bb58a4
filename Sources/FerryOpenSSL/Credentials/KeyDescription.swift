internal import CFerryOpenSSL

/// A description of a private key that is safe to show: nothing in it helps to guess the key.
struct KeyDescription: Hashable {
    /// The kind of key, such as "RSA 2048" or "prime256v1".
    var kind: String
    /// SHA-256 of the public key (SubjectPublicKeyInfo in DER form).
    var fingerprint: [UInt8]

    init(_ key: borrowing OwnedKey) {
        defer { ErrorQueue.clear() }
        let pointer = key.pointer
        self.kind = keyKind(pointer)
        let der = encodedDER { i2d_PUBKEY(pointer, $0) } ?? []
        self.fingerprint = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { storage, count in
            var length: UInt32 = 0
            if EVP_Digest(der, der.count, storage.baseAddress, &length, EVP_sha256(), nil) == 1 { count = Int(length) }
        }
    }

    private var sentence: String {
        "\(self.kind), SHA-256 of the public key \(self.fingerprint.prefix(8).map(hexadecimal).joined())…"
    }

    /// Returns the error for a file with several keys.
    ///
    /// - Parameter keys: the keys in the order of the file; nil for a key that cannot be read.
    static func several(_ keys: [KeyDescription?], in source: String) -> TLSError {
        let list = keys.enumerated().map { place, key in "\(place + 1). \(key?.sentence ?? "one that cannot be read")" }
        return TLSError(
            .severalPrivateKeys,
            "\(source) holds \(keys.count) private keys (\(list.joined(separator: "; "))); leave only the one that belongs "
                + "to the certificate."
        )
    }
}

/// Returns the kind of a key, such as "RSA 2048" or "prime256v1".
func keyKind(_ key: OpaquePointer) -> String {
    if EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA { return "RSA \(EVP_PKEY_get_bits(key))" }
    if let group = keyGroup(key) { return group }
    return EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "unknown"
}

private func hexadecimal(_ byte: UInt8) -> String {
    let digits = Array("0123456789abcdef")
    return String([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
}
