/// The place of a device among all, by which a rule chooses its side.
extension MigrationRule {
    /// Returns the position of a device among 4,096. Its notifications go over HTTP/2 if the position is below 40.96 times the
    /// ``share``.
    ///
    /// The position is the top 12 bits of `fmix32(hash)`, the 32-bit finaliser of MurmurHash3, over a hash of the token:
    ///
    /// ```
    /// hash = 0xcbf29ce484222325                       64 bits, all operations modulo 2^64
    /// for each 8 bytes, little-endian:  hash = (hash ^ word) * 0x100000001b3;  hash ^= hash >> 29
    /// for each byte that is left:       hash = (hash ^ byte) * 0x100000001b3
    /// hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;  hash ^= hash >> 32;  its low 32 bits
    /// ```
    ///
    /// | device token in hex | position |
    /// |---|---|
    /// | 00 | 207 |
    /// | 01 | 276 |
    /// | ab, 32 times | 744 |
    public static func position(of device: DeviceToken) -> Int {
        device.bytes.withUnsafeBufferPointer { self.position(ofHash: DeviceToken.stableHash($0)) }
    }

    // The finaliser makes the position independent of the low bits of the hash, by which a provider chooses the
    // connection. Otherwise some connections of a side would be idle at some shares.
    @inline(__always)
    package static func position(ofHash tokenHash: UInt32) -> Int {
        var hash = tokenHash
        hash = (hash ^ hash >> 16) &* 0x85eb_ca6b
        hash = (hash ^ hash >> 13) &* 0xc2b2_ae35
        hash ^= hash >> 16
        return Int(hash >> 20)
    }
}
