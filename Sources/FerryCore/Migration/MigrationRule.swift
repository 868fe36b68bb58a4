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
}
