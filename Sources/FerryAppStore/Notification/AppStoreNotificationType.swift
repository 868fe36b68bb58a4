/// The type of a notification, in Apple's words: `notificationType` of version 2, `notification_type` of version 1. An
/// unknown type is kept as it is.
///
/// Source: the page "notificationType" of App Store Server Notifications, its changelog, and "notification_type" of
/// version 1.
public struct AppStoreNotificationType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Apple's word, such as `DID_RENEW`.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple's word: ``rawValue``.
    public var description: String { self.rawValue }

    // MARK: Version 2

    public static let subscribed = Self(rawValue: "SUBSCRIBED")
    public static let didRenew = Self(rawValue: "DID_RENEW")
    public static let didChangeRenewalPreference = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
    public static let didChangeRenewalStatus = Self(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    public static let didFailToRenew = Self(rawValue: "DID_FAIL_TO_RENEW")
    public static let expired = Self(rawValue: "EXPIRED")
    public static let offerRedeemed = Self(rawValue: "OFFER_REDEEMED")
    public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    public static let renewalExtension = Self(rawValue: "RENEWAL_EXTENSION")
    public static let externalPurchaseToken = Self(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    public static let gracePeriodExpired = Self(rawValue: "GRACE_PERIOD_EXPIRED")
    public static let refund = Self(rawValue: "REFUND")
    public static let refundDeclined = Self(rawValue: "REFUND_DECLINED")
    public static let refundReversed = Self(rawValue: "REFUND_REVERSED")
    public static let consumptionRequest = Self(rawValue: "CONSUMPTION_REQUEST")
    public static let renewalExtended = Self(rawValue: "RENEWAL_EXTENDED")
    public static let revoke = Self(rawValue: "REVOKE")
    public static let oneTimeCharge = Self(rawValue: "ONE_TIME_CHARGE")
    public static let rescindConsent = Self(rawValue: "RESCIND_CONSENT")
    public static let metadataUpdate = Self(rawValue: "METADATA_UPDATE")
    /// The word on Apple's page. Apple's changelog has `MIGRATE`, which is a different type here.
    public static let migration = Self(rawValue: "MIGRATION")
    public static let priceChange = Self(rawValue: "PRICE_CHANGE")
    /// A test that the developer asked for. It has the form of version 2, even when it is sent to a URL of version 1.
    public static let test = Self(rawValue: "TEST")

    // MARK: Version 1

    public static let initialBuy = Self(rawValue: "INITIAL_BUY")
    public static let didRecover = Self(rawValue: "DID_RECOVER")
    public static let interactiveRenewal = Self(rawValue: "INTERACTIVE_RENEWAL")
    public static let cancel = Self(rawValue: "CANCEL")
    public static let priceIncreaseConsent = Self(rawValue: "PRICE_INCREASE_CONSENT")
}
