/// An app whose notifications a receiver takes.
public struct AppStoreApp: Hashable, Sendable {
    /// The bundle identifier.
    public var bundleID: String
    /// Apple's number of the app, which App Store Connect shows as "Apple ID"; nil if the number is not compared.
    public var appAppleID: Int64?

    /// Makes an app.
    public init(bundleID: String, appAppleID: Int64? = nil) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
    }
}
