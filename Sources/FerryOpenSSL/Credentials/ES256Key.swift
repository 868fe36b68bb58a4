internal import CFerryOpenSSL

/// A P-256 key for signing JSON Web Tokens (ES256: ECDSA over SHA-256, RFC 7518 section 3.4).
///
/// Safe from any thread: the key never changes, and each signature has a new context.
public final class ES256Key: @unchecked Sendable {
    /// The length of a signature: r and s, 32 bytes each, without framing.
    public static let signatureLength = 64

    private let key: OwnedKey

    init(_ key: consuming OwnedKey, source: String) throws(TLSError) {
        guard EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_EC, keyGroup(key.pointer) == "prime256v1" else {
            throw TLSError(
                .unsupportedKey,
                "\(source) holds a key that is not P-256; provider tokens need the .p8 file that Apple issued."
            )
        }
        self.key = key
    }

    /// Reads the text of a `.p8` file.
    ///
    /// - Throws: ``TLSError`` with `noPrivateKey`, `malformed`, `passphraseRequired` or `unsupportedKey`.
    public convenience init(p8 bytes: [UInt8]) throws(TLSError) {
        try self.init(p8: bytes, source: "the .p8 key")
    }

    /// Reads the text of a `.p8` file, as ``init(p8:)`` does. `source` is the name of the text in errors.
    package convenience init(p8 bytes: [UInt8], source: String) throws(TLSError) {
        let read: PEM.PrivateKey
        do {
            read = try PEM.privateKey(bytes, passphrase: nil, source: source)
        } catch  where error.code == .noPrivateKey {
            throw WrongCredentials(source: source, wanted: .tokenKey, form: CredentialForm(bytes)).explaining(error)
        }
        try self.init(read.key, source: source)
    }

    /// Reads a `.p8` file.
    ///
    /// - Throws: ``TLSError`` with `fileNotFound` or `fileUnreadable`, or with any code of ``init(p8:)``.
    public convenience init(path: String) throws(TLSError) {
        try self.init(p8: credentialBytes(atPath: path), source: sourceName(path))
    }

    /// Returns a new random key.
    ///
    /// - Throws: ``TLSError`` with `internalFailure`.
    package static func generate() throws(TLSError) -> ES256Key {
        try ES256Key(generateKey(.p256), source: "the new key")
    }

    /// Returns the key as the text of a `.p8` file.
    ///
    /// - Throws: ``TLSError`` with `internalFailure`.
    package func p8() throws(TLSError) -> [UInt8] {
        try pemBytes(key: self.key.pointer)
    }

    /// Signs `message`. The signature has 64 bytes. Cost: about 30 µs.
    ///
    /// - Throws: ``TLSError`` with `internalFailure`.
    public func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] {
        ErrorQueue.clear()
        guard let context = OwnedDigestContext(EVP_MD_CTX_new()),
            EVP_DigestSignInit(context.pointer, nil, EVP_sha256(), nil, self.key.pointer) == 1
        else { throw .openSSL(.internalFailure, "OpenSSL cannot prepare a signature.") }
        var length = Int(EVP_PKEY_get_size(self.key.pointer))
        var der = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context.pointer, &der, &length, message, message.count) == 1 else {
            throw .openSSL(.internalFailure, "OpenSSL cannot sign.")
        }
        var raw = [UInt8](repeating: 0, count: Self.signatureLength)
        let isConverted = der.withUnsafeBufferPointer { der in
            var cursor = der.baseAddress
            guard let signature = OwnedECDSASignature(d2i_ECDSA_SIG(nil, &cursor, length)) else { return false }
            return raw.withUnsafeMutableBufferPointer { raw in
                guard let base = raw.baseAddress else { return false }
                return BN_bn2binpad(ECDSA_SIG_get0_r(signature.pointer), base, 32) == 32
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature.pointer), base + 32, 32) == 32
            }
        }
        guard isConverted else { throw .openSSL(.internalFailure, "OpenSSL's signature is not an ECDSA signature.") }
        return raw
    }

    /// Returns whether `signature` (64 bytes) is this key's signature of `message`.
    public func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        guard signature.count == Self.signatureLength, let parsed = OwnedECDSASignature(ECDSA_SIG_new()) else {
            return false
        }
        let r = BN_bin2bn(Array(signature[..<32]), 32, nil)
        let s = BN_bin2bn(Array(signature[32...]), 32, nil)
        // From here the signature owns the numbers.
        guard ECDSA_SIG_set0(parsed.pointer, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return false
        }
        let parsedPointer = parsed.pointer
        return encodedDER { i2d_ECDSA_SIG(parsedPointer, $0) }.map { self.isValidSignature(der: $0, for: message) }
            ?? false
    }

    /// Returns whether `der` (ASN.1 in DER form, as OpenSSL and Java make it) is this key's signature of `message`.
    package func isValidSignature(der: [UInt8], for message: [UInt8]) -> Bool {
        defer { ErrorQueue.clear() }
        guard let context = OwnedDigestContext(EVP_MD_CTX_new()),
            EVP_DigestVerifyInit(context.pointer, nil, EVP_sha256(), nil, self.key.pointer) == 1
        else { return false }
        return EVP_DigestVerify(context.pointer, der, der.count, message, message.count) == 1
    }
}
