#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A notification of the App Store that was verified.
public struct AppStoreNotification: Hashable, Sendable {
    /// The version of App Store Server Notifications.
    @nonexhaustive
    public enum Version: Int, Sendable {
        /// Deprecated: a shared secret is its only proof, and it has no identifier.
        case one = 1
        /// The present version: a signature of Apple's proves it, and `notificationUUID` identifies it.
        case two = 2
    }

    /// The key under which repeats are recognized: `notificationUUID`. Version 1 has none; its key is made of what does not
    /// change between two copies, and begins with `v1-`.
    public let uuid: String
    /// What happened. Apple adds types, so code must let unknown ones pass.
    public let type: AppStoreNotificationType
    /// Details of the type, in Apple's words.
    public let subtype: String?
    /// The version that the notification came in.
    public let version: Version
    /// When Apple signed this copy: of two notifications about one customer, the one that was signed later holds the newer
    /// state. In version 1, the newest date in the notification; nil without one.
    public let signedDate: Date?
    /// The environment of the purchase. In version 1, `PROD` and `Production` are both ``AppStoreEnvironment/production``.
    public let environment: AppStoreEnvironment
    /// The app's bundle identifier: `bundleId`, in version 1 `bid`.
    public let bundleID: String
    /// Apple's number of the app. Missing in the sandbox, and in version 1.
    public let appAppleID: Int64?
    /// What belongs to one customer and purchase: the original transaction's identifier. Nil if it names none.
    public let customer: String?
    /// The notification in plain JSON (UTF-8): Apple's object, in which each signed text is replaced by the object that it
    /// signs: `signedTransactionInfo` by `transactionInfo`, `signedRenewalInfo` by `renewalInfo`,
    /// `signedAppTransactionInfo` by `appTransactionInfo`. Of version 1 it is Apple's object without `password`.
    public let json: [UInt8]
}

extension AppStoreNotification {
    /// Decodes ``json`` as a type of yours.
    ///
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(self.json))
    }
}

extension Date {
    /// Apple's dates are milliseconds since 1970.
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// Milliseconds since 1970.
    var milliseconds: Int64 { Int64((self.timeIntervalSince1970 * 1000).rounded()) }
}
