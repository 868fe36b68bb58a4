internal import CFerryOpenSSL

/// SHA-256, alone and with a key (HMAC, RFC 2104).
package enum SHA256 {
    /// The length of a result in bytes.
    package static let length = 32

    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        self.result { EVP_Digest(bytes, bytes.count, $0, $1, EVP_sha256(), nil) == 1 }
    }

    package static func authenticate(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        self.result { HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, $0, $1) != nil }
    }

    /// Compares in a time that does not depend on where the bytes differ, so that nobody finds a secret byte by byte.
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }

    /// Returns the bytes that OpenSSL writes with their number. The calls fail only without memory. Then there is no result, which equals no other.
    static func result(
        _ body: (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt32>) -> Bool
    ) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { storage, count in
            var length: UInt32 = 0
            if body(storage.baseAddress, &length) { count = Int(length) }
        }
    }
}
