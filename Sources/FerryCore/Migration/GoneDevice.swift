public import FerryPlatform

/// A device that no longer has the app, as the peer of one protocol reported.
///
/// The binary protocol reports it in its feedback list, and HTTP/2 in the answer to a notification (status 410).
public struct GoneDevice: Hashable, Sendable {
    /// The token of the device.
    public var token: DeviceToken
    /// When APNs found that the app is gone, in whole seconds over the binary protocol, and in milliseconds over
    /// HTTP/2; nil if the answer had no time. An app that registered after that time is back.
    public var time: Date?
    /// The topic of the app; nil if neither the notification nor the settings name one.
    public var topic: String?
    /// The protocol that reported it.
    public var side: ProviderSide

    /// A device that no longer has the app.
    public init(token: DeviceToken, time: Date?, topic: String?, side: ProviderSide) {
        self.token = token
        self.time = time
        self.topic = topic
        self.side = side
    }
}
