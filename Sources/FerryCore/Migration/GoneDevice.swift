public import FerryPlatform

/// A device that no longer has the app, as the peer of one protocol has told.
///
/// The binary protocol tells it in the list of its feedback service, and HTTP/2 in the answer to a notification (status 410).
public struct GoneDevice: Hashable, Sendable {
    /// The token of the device.
    public var token: DeviceToken
    /// When APNs found that the app is gone: in whole seconds over the binary protocol, in milliseconds over HTTP/2. If an app
    /// registered after that time, it is back. Nil: the answer had no time.
    public var time: Date?
    /// The topic of the app. Nil: neither the notification nor the settings name one.
    public var topic: String?
    /// The protocol that told it.
    public var side: ProviderSide

    /// A device that no longer has the app.
    public init(token: DeviceToken, time: Date?, topic: String?, side: ProviderSide) {
        self.token = token
        self.time = time
        self.topic = topic
        self.side = side
    }
}
