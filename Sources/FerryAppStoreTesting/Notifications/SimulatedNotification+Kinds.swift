internal import FerryAppStore

extension SimulatedNotification.Kind {
    /// Every type and subtype of version 2.
    ///
    /// Source: the pages "notificationType" and "subtype" of App Store Server Notifications; the changelog for
    /// `ACTIVE_TOKEN_REMINDER`, `METADATA_UPDATE`, `MIGRATION` and `PRICE_CHANGE`.
    public static let version2: [Self] = [
        Self(.subscribed, "INITIAL_BUY"), Self(.subscribed, "RESUBSCRIBE"),
        Self(.didRenew), Self(.didRenew, "BILLING_RECOVERY"),
        Self(.didChangeRenewalPreference), Self(.didChangeRenewalPreference, "UPGRADE"),
        Self(.didChangeRenewalPreference, "DOWNGRADE"),
        Self(.didChangeRenewalStatus, "AUTO_RENEW_ENABLED"), Self(.didChangeRenewalStatus, "AUTO_RENEW_DISABLED"),
        Self(.didFailToRenew), Self(.didFailToRenew, "GRACE_PERIOD"),
        Self(.expired, "VOLUNTARY"), Self(.expired, "BILLING_RETRY"), Self(.expired, "PRICE_INCREASE"),
        Self(.expired, "PRODUCT_NOT_FOR_SALE"),
        Self(.offerRedeemed), Self(.offerRedeemed, "UPGRADE"), Self(.offerRedeemed, "DOWNGRADE"),
        Self(.priceIncrease, "PENDING"), Self(.priceIncrease, "ACCEPTED"),
        Self(.renewalExtension, "SUMMARY"), Self(.renewalExtension, "FAILURE"),
        Self(.externalPurchaseToken, "UNREPORTED"), Self(.externalPurchaseToken, "CREATED"),
        Self(.externalPurchaseToken, "ACTIVE_TOKEN_REMINDER"),
        Self(.gracePeriodExpired), Self(.refund), Self(.refundDeclined), Self(.refundReversed),
        Self(.consumptionRequest), Self(.renewalExtended), Self(.revoke), Self(.oneTimeCharge),
        Self(.rescindConsent), Self(.metadataUpdate), Self(.migration), Self(.priceChange), Self(.test),
    ]

    /// Every type of version 1.
    ///
    /// Source: the page "notification_type" of App Store Server Notifications V1.
    public static let version1: [Self] = [
        Self(.initialBuy), Self(.didRenew), Self(.didRecover), Self(.didFailToRenew), Self(.didChangeRenewalPreference),
        Self(.didChangeRenewalStatus), Self(.interactiveRenewal), Self(.cancel), Self(.refund), Self(.revoke),
        Self(.priceIncreaseConsent), Self(.consumptionRequest),
    ]

    /// What the payload of version 2 holds besides its own members.
    enum Shape {
        /// `data` without a purchase.
        case test
        /// `data` with a purchase that does not renew.
        case purchase
        /// `data` with a subscription.
        case subscription
        case summary
        case externalPurchaseToken
        case appData
    }

    var shape: Shape {
        switch self.type {
        case .test: .test
        case .oneTimeCharge: .purchase
        case .renewalExtension where self.subtype == "SUMMARY": .summary
        case .externalPurchaseToken: .externalPurchaseToken
        case .rescindConsent: .appData
        default: .subscription
        }
    }

    /// `status` of the subscription ("status", App Store Server Notifications).
    var status: Int64 {
        switch (self.type, self.subtype) {
        case (.expired, _): 2
        case (.didFailToRenew, "GRACE_PERIOD"): 4
        case (.didFailToRenew, _), (.gracePeriodExpired, _): 3
        case (.revoke, _), (.refund, _): 5
        default: 1
        }
    }
}
