internal import FerryOpenSSL

/// The keyed hash of the replay filter and of the journal's segments.
final class GatewayHash {
    private let hash: KeyedHash

    /// - Parameter key: ``KeyedHash/keyLength`` bytes.
    init(key: [UInt8]) throws(TLSError) { self.hash = try KeyedHash(key: key) }

    func key(
        _ topic: [UInt8],
        _ token: UnsafeBufferPointer<UInt8>,
        _ payload: UnsafeBufferPointer<UInt8>
    ) -> ReplayKey {
        let (high, low) = topic.withUnsafeBufferPointer { self.hash.hash($0, token, payload) }
        return ReplayKey(high: high, low: low)
    }

    func checksum(_ bytes: [UInt8]) -> UInt64 {
        let nothing = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        return bytes.withUnsafeBufferPointer { self.hash.hash($0, nothing, nothing).low }
    }
}
