/// The choice of the protocol for each notification, while a provider moves from the binary protocol to HTTP/2.
///
/// ``devices`` decides first, then ``topics``, then ``share``.
public struct MigrationRule: Sendable, Hashable {
    /// The share of devices whose notifications go over HTTP/2, in percent: 0 to 100. It is rounded to 1/4096 of all
    /// devices, but only 0 means none and only 100 means all.
    ///
    /// A hash of the token chooses a device. It is the same in each process and release; see ``position(of:)``. A
    /// larger share moves further devices over, and no device back.
    public var share: Double
    /// The side of notifications with these topics. It does not concern a notification without a topic.
    public var topics: [String: ProviderSide]
    /// The side of single devices.
    public var devices: [DeviceToken: ProviderSide]

    /// - Parameters:
    ///   - share: the share of devices whose notifications go over HTTP/2, in percent. A number outside 0 to 100 counts
    ///     as the nearer end, and NaN as 0.
    ///   - topics: the side of notifications with these topics.
    ///   - devices: the side of single devices.
    public init(
        share: Double,
        topics: [String: ProviderSide] = [:],
        devices: [DeviceToken: ProviderSide] = [:]
    ) {
        self.share = share
        self.topics = topics
        self.devices = devices
    }

    /// The number of positions.
    package static let positions = 4096

    /// The devices at positions below this number go over HTTP/2, as far as the share decides.
    package var threshold: Int {
        guard self.share > 0 else { return 0 }
        guard self.share < 100 else { return Self.positions }
        return min(max(Int((self.share / 100 * Double(Self.positions)).rounded()), 1), Self.positions - 1)
    }

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
