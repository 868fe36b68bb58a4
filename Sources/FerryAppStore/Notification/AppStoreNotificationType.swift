/// The type of a notification, by Apple's name: `notificationType` of version 2, `notification_type` of version 1. An
/// unknown name is kept as it is.
///
/// Source: the page "notificationType" of App Store Server Notifications, its changelog, and "notification_type" of
/// version 1.
public struct AppStoreNotificationType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Apple's name of the type, such as `DID_RENEW`.
    public let rawValue: String

    /// Makes a type from any name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple's name: ``rawValue``.
    public var description: String { self.rawValue }

    // MARK: Version 2

    /// The customer subscribed, for the first time or again.
    public static let subscribed = Self(rawValue: "SUBSCRIBED")
    /// The subscription was renewed.
    public static let didRenew = Self(rawValue: "DID_RENEW")
    /// The customer changed the plan of the subscription.
    public static let didChangeRenewalPreference = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// The renewal was switched on or off.
    public static let didChangeRenewalStatus = Self(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// The payment of a renewal failed.
    public static let didFailToRenew = Self(rawValue: "DID_FAIL_TO_RENEW")
    /// The subscription has ended.
    public static let expired = Self(rawValue: "EXPIRED")
    /// The customer redeemed an offer.
    public static let offerRedeemed = Self(rawValue: "OFFER_REDEEMED")
    /// Apple informed the customer of a higher price, or the customer agreed to the price.
    public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    /// Apple extends the renewal dates of all active subscribers, at the developer's request.
    public static let renewalExtension = Self(rawValue: "RENEWAL_EXTENSION")
    /// Apple made a token for purchases outside the App Store.
    public static let externalPurchaseToken = Self(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// The grace period after a failed payment has ended without a renewal.
    public static let gracePeriodExpired = Self(rawValue: "GRACE_PERIOD_EXPIRED")
    /// Apple refunded a purchase.
    public static let refund = Self(rawValue: "REFUND")
    /// Apple declined a request for a refund.
    public static let refundDeclined = Self(rawValue: "REFUND_DECLINED")
    /// Apple took a refund back.
    public static let refundReversed = Self(rawValue: "REFUND_REVERSED")
    /// The customer asked for a refund, and Apple asks for data about the use of the purchase.
    public static let consumptionRequest = Self(rawValue: "CONSUMPTION_REQUEST")
    /// Apple extended the renewal date of one subscription, at the developer's request.
    public static let renewalExtended = Self(rawValue: "RENEWAL_EXTENDED")
    /// A purchase that the customer had through Family Sharing is no longer available.
    public static let revoke = Self(rawValue: "REVOKE")
    /// The customer bought a product that does not renew itself.
    public static let oneTimeCharge = Self(rawValue: "ONE_TIME_CHARGE")
    /// A parent or guardian withdrew the consent for a child's use of the app.
    public static let rescindConsent = Self(rawValue: "RESCIND_CONSENT")
    /// The developer changed the metadata of a subscription (Advanced Commerce API).
    public static let metadataUpdate = Self(rawValue: "METADATA_UPDATE")
    /// The developer moved a subscription to the Advanced Commerce API. `MIGRATION` is the name on Apple's page.
    /// Apple's changelog has `MIGRATE`. Here that name is a different type.
    public static let migration = Self(rawValue: "MIGRATION")
    /// The developer changed the price of a subscription (Advanced Commerce API).
    public static let priceChange = Self(rawValue: "PRICE_CHANGE")
    /// A test that the developer asked for. A test has the form of version 2, even at a URL that is set to version 1.
    public static let test = Self(rawValue: "TEST")

    // MARK: Version 1

    /// The customer subscribed for the first time.
    public static let initialBuy = Self(rawValue: "INITIAL_BUY")
    /// A renewal succeeded after its payment had failed.
    public static let didRecover = Self(rawValue: "DID_RECOVER")
    /// The customer renewed the subscription in the app or in the settings.
    public static let interactiveRenewal = Self(rawValue: "INTERACTIVE_RENEWAL")
    /// Apple's support cancelled the subscription, or the customer changed to a higher plan.
    public static let cancel = Self(rawValue: "CANCEL")
    /// Apple asked the customer to agree to a higher price.
    public static let priceIncreaseConsent = Self(rawValue: "PRICE_INCREASE_CONSENT")
}
