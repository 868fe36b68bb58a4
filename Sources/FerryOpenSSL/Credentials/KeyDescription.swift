internal import CFerryOpenSSL
internal import FerryCore

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
        self.fingerprint = SHA256.hash(encodedDER { i2d_PUBKEY(pointer, $0) } ?? [])
    }

    private var sentence: String {
        "\(self.kind), SHA-256 of the public key \(Array(self.fingerprint.prefix(8)).hexadecimal)…"
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
