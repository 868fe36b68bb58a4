internal import CFerryOpenSSL

/// SipHash with a secret key, of 128 bits. Without the key nobody can find two inputs with the same hash.
///
/// The class is not `Sendable`, because one owner uses it.
package struct KeyedHash: ~Copyable {
    /// The length of the key in bytes.
    package static let keyLength = 16
    /// The length of the hash in bytes.
    private static let hashLength = 16

    private let algorithm: OpaquePointer
    private let context: OpaquePointer
    private let key: [UInt8]

    /// - Parameter key: ``keyLength`` random bytes.
    /// - Throws: ``TLSError`` with `internalFailure` when OpenSSL does not have the algorithm.
    package init(key: [UInt8]) throws(TLSError) {
        precondition(key.count == Self.keyLength, "a key of SipHash has 16 bytes")
        guard let algorithm = EVP_MAC_fetch(nil, "SIPHASH", nil) else {
            throw .openSSL(.internalFailure, "SipHash is not available")
        }
        guard let context = EVP_MAC_CTX_new(algorithm) else {
            EVP_MAC_free(algorithm)
            throw .openSSL(.internalFailure, "SipHash cannot be used")
        }
        self.algorithm = algorithm
        self.context = context
        self.key = key
    }

    deinit {
        EVP_MAC_CTX_free(self.context)
        EVP_MAC_free(self.algorithm)
    }

    /// Returns the hash of the three parts with their lengths, so that bytes that move from one to the next change it.
    package func hash(
        _ first: UnsafeBufferPointer<UInt8>,
        _ second: UnsafeBufferPointer<UInt8>,
        _ third: UnsafeBufferPointer<UInt8>
    ) -> (high: UInt64, low: UInt64) {
        var lengths = (UInt32(truncatingIfNeeded: first.count), UInt32(truncatingIfNeeded: second.count))
        var hash: (UInt64, UInt64) = (0, 0)
        var length = 0
        // These calls fail only without memory.
        _ = EVP_MAC_init(self.context, self.key, self.key.count, nil)
        _ = withUnsafeBytes(of: &lengths) {
            EVP_MAC_update(self.context, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        for part in [first, second, third] { _ = EVP_MAC_update(self.context, part.baseAddress, part.count) }
        withUnsafeMutableBytes(of: &hash) {
            _ = EVP_MAC_final(self.context, $0.bindMemory(to: UInt8.self).baseAddress, &length, Self.hashLength)
        }
        return hash
    }
}
