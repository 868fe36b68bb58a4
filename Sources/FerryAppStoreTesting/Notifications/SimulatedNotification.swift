public import FerryAppStore
public import FerryPlatform

/// A notification of the App Store that ``NotificationMaker`` made, ready to be posted.
public struct SimulatedNotification: Sendable {
    /// A type and a subtype, in Apple's words.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// Apple's `notificationType`.
        public var type: AppStoreNotificationType
        /// Apple's `subtype`; nil for a type without one.
        public var subtype: String?

        /// Makes a kind of notification.
        public init(_ type: AppStoreNotificationType, _ subtype: String? = nil) {
            self.type = type
            self.subtype = subtype
        }

        /// `DID_RENEW`, or `DID_RENEW/BILLING_RECOVERY`.
        public var description: String { self.subtype.map { "\(self.type)/\($0)" } ?? self.type.rawValue }
    }

    /// The version of App Store Server Notifications: 1 or 2.
    public let version: AppStoreNotification.Version
    /// The type and the subtype.
    public let kind: Kind
    /// The environment of the app.
    public let environment: AppStoreEnvironment
    /// `notificationUUID`. Version 1 has none: then it names the notification in the sender's records only.
    public let uuid: String
    /// When the notification was signed.
    public let signedDate: Date
    /// The original transaction, or the app transaction of the customer. Nil if the notification names none.
    public let customer: String?
    /// The identifiers under which ``SimulatedAppStoreServer`` finds the notification: `transactionId` and
    /// `originalTransactionId`.
    package let transactions: [String]
    /// The text of `signedPayload`; nil in version 1.
    public let signedPayload: String?
    /// What the notification says; a copy of it is signed anew.
    let content: NotificationContent
    /// The body of the post: `{"signedPayload":"…"}`, or the object of version 1.
    public var post: [UInt8] {
        switch self.content {
        case .version1(let content): content.post
        case .version2: Array("{\"signedPayload\":\"\(self.signedPayload ?? "")\"}".utf8)
        }
    }
}

/// What a notification says, without the parts that differ between two copies of it.
enum NotificationContent: Sendable {
    /// The member that is `data`, `summary`, `externalPurchaseToken` or `appData`. Signed texts inside stay as they are:
    /// "the history has that of the first sending".
    case version2(name: String, value: SimulatedJSON)
    case version1(Version1Content)
}
