/// A broadcast channel, as APNs describes it.
public struct BroadcastChannel: Hashable, Sendable {
    /// The channel's identifier.
    public var id: ChannelID
    /// Whether APNs keeps messages of the channel.
    public var storagePolicy: MessageStoragePolicy
    /// The key `push-type`: "LiveActivity", the only type that Apple names.
    public var pushType: String

    /// A channel with these properties.
    public init(id: ChannelID, storagePolicy: MessageStoragePolicy, pushType: String) {
        self.id = id
        self.storagePolicy = storagePolicy
        self.pushType = pushType
    }
}
