public import FerryPlatform

/// A notification of the App Store that was verified.
public struct AppStoreNotification: Hashable, Sendable {
    /// The version of App Store Server Notifications.
    @nonexhaustive
    public enum Version: Int, Sendable {
        /// Deprecated by Apple: only a shared secret proves the notification, and the notification has no identifier.
        case one = 1
        /// The present version: Apple's signature proves the notification, and `notificationUUID` identifies it.
        case two = 2
    }

    /// The key that is equal in all copies: `notificationUUID`. Version 1 has no such member. In version 1, the key
    /// is `v1-` and a hash of members that are equal in all copies.
    public let uuid: String
    /// The type of event. Apple adds types, so code must accept unknown ones.
    public let type: AppStoreNotificationType
    /// The details of the type (`subtype`), as Apple names them; nil if the notification has none.
    public let subtype: String?
    /// The version that the notification came in.
    public let version: Version
    /// The time at which Apple signed this copy. Of two notifications about one customer, the notification with the
    /// later date has the newer state. In version 1, this is the newest date of a purchase, a cancellation or a
    /// change of the renewal status in the notification; nil if the notification has none of these dates.
    public let signedDate: Date?
    /// The environment of the purchase. In version 1, both `PROD` and `Production` are
    /// ``AppStoreEnvironment/production``.
    public let environment: AppStoreEnvironment
    /// The app's bundle identifier: `bundleId`, in version 1 `bid`.
    public let bundleID: String
    /// Apple's number of the app (`appAppleId`); nil without a number, as in the sandbox and in version 1.
    public let appAppleID: Int64?
    /// The customer and purchase: the identifier of the original transaction, or else of the app transaction or the
    /// external purchase; nil if the notification names none of these.
    public let customer: String?
    /// The notification in plain JSON (UTF-8). In Apple's object, the content of each signed text replaces the text:
    /// `transactionInfo` replaces `signedTransactionInfo`, `renewalInfo` replaces `signedRenewalInfo`, and
    /// `appTransactionInfo` replaces `signedAppTransactionInfo`. In version 1, this is Apple's object without
    /// `password`.
    public let json: [UInt8]
}

extension AppStoreNotification {
    /// Decodes ``json`` as a type of your own.
    ///
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(self.json))
    }
}

extension Date {
    /// Makes a date from Apple's form: milliseconds since 1970.
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// The date in milliseconds since 1970.
    var milliseconds: Int64 { Int64((self.timeIntervalSince1970 * 1000).rounded()) }
}
