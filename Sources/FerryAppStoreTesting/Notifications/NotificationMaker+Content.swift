internal import FerryAppStore
internal import FerryOpenSSL
internal import FerryPlatform

/// The objects of payloads of version 2.
///
/// Source: the pages "data", "summary", "externalPurchaseToken" and "appData" of App Store Server Notifications; the pages
/// "JWSTransactionDecodedPayload", "JWSRenewalInfoDecodedPayload" and "JWSAppTransactionDecodedPayload" of the App Store
/// Server API.
extension NotificationMaker {
    typealias Purchase = NotificationValues.Purchase

    /// The version of the app, as its property list has it.
    private static let bundleVersion = "412"
    private static let day: Int64 = 86_400_000

    /// Returns the one member that tells what the notification is about.
    mutating func content(
        _ kind: SimulatedNotification.Kind,
        _ purchase: Purchase
    ) throws(TLSError) -> (name: String, value: SimulatedJSON) {
        switch kind.shape {
        case .test:
            // The number of the app is there in production only.
            let number = self.environment == .production ? self.number : nil
            return ("data", ["appAppleId": number, "bundleId": self.bundleID, "environment": self.environmentName])
        case .purchase: return ("data", try self.data(kind, purchase, renews: false))
        case .subscription: return ("data", try self.data(kind, purchase, renews: true))
        case .summary: return ("summary", self.summary(purchase))
        case .externalPurchaseToken: return ("externalPurchaseToken", self.externalPurchaseToken(kind, purchase))
        case .appData: return ("appData", try self.appData(purchase))
        }
    }

    private var bundleID: SimulatedJSON { .text(self.app.bundleID) }
    private var number: SimulatedJSON? { self.app.appAppleID.map(SimulatedJSON.integer) }
    private var environmentName: SimulatedJSON { .text(self.environment.rawValue) }
    private var productPrefix: String { "\(self.app.bundleID).premium" }

    private func data(
        _ kind: SimulatedNotification.Kind,
        _ purchase: Purchase,
        renews: Bool
    ) throws(TLSError) -> SimulatedJSON {
        let transaction = try self.signer.sign(self.transaction(kind, purchase, renews: renews).bytes)
        let renewal = renews ? try self.signer.sign(self.renewal(kind, purchase).bytes) : nil
        let isRequest = kind.type == .consumptionRequest
        return [
            "appAppleId": self.number,
            "bundleId": self.bundleID,
            "bundleVersion": .text(Self.bundleVersion),
            "environment": self.environmentName,
            "signedTransactionInfo": .text(transaction),
            "signedRenewalInfo": renewal.map(SimulatedJSON.text),
            "status": renews ? .integer(kind.status) : nil,
            "consumptionRequestReason": isRequest ? "UNINTENDED_PURCHASE" : nil,
        ]
    }

    private func summary(_ purchase: Purchase) -> SimulatedJSON {
        [
            "requestIdentifier": .text(purchase.accountToken),
            "environment": self.environmentName,
            "appAppleId": self.number,
            "bundleId": self.bundleID,
            "productId": .text("\(self.productPrefix).\(purchase.product)"),
            "storefrontCountryCodes": ["USA", "CAN", "MEX"],
            "failedCount": 5,
            "succeededCount": 52_841,
        ]
    }

    private func externalPurchaseToken(_ kind: SimulatedNotification.Kind, _ purchase: Purchase) -> SimulatedJSON {
        [
            "externalPurchaseId": .text(purchase.externalPurchaseID(self.environment)),
            "tokenCreationDate": .integer(purchase.bought),
            "appAppleId": self.number,
            "bundleId": self.bundleID,
            "tokenType": kind.subtype == "UNREPORTED" ? nil : "ACQUISITION",
            "tokenExpirationDate": kind.subtype == "UNREPORTED" ? nil : .integer(purchase.expires),
        ]
    }

    private mutating func appData(_ purchase: Purchase) throws(TLSError) -> SimulatedJSON {
        [
            "appAppleId": self.number,
            "bundleId": self.bundleID,
            "environment": self.environmentName,
            "signedAppTransactionInfo": .text(try self.signer.sign(self.appTransaction(purchase).bytes)),
        ]
    }

    // MARK: Signed texts inside

    func transaction(
        _ kind: SimulatedNotification.Kind,
        _ purchase: Purchase,
        renews: Bool = true
    ) -> SimulatedJSON {
        let isRevoked = kind.type == .refund || kind.type == .revoke
        let isOffer = kind.type == .offerRedeemed
        let isFirst = kind.subtype == "INITIAL_BUY" || !renews
        return [
            "transactionId": .text(isFirst ? purchase.original : purchase.transaction),
            "originalTransactionId": .text(purchase.original),
            "webOrderLineItemId": renews ? .text(purchase.webOrderLine) : nil,
            "bundleId": self.bundleID,
            "productId": .text(renews ? "\(self.productPrefix).\(purchase.product)" : "\(self.app.bundleID).coins"),
            "subscriptionGroupIdentifier": renews ? "21482456" : nil,
            "purchaseDate": .integer(purchase.renewed),
            "originalPurchaseDate": .integer(isFirst ? purchase.renewed : purchase.bought),
            "expiresDate": renews ? .integer(kind.type == .expired ? purchase.signed - 60_000 : purchase.expires) : nil,
            "quantity": 1,
            "type": renews ? "Auto-Renewable Subscription" : "Consumable",
            "appAccountToken": .text(purchase.accountToken),
            "inAppOwnershipType": kind.type == .revoke ? "FAMILY_SHARED" : "PURCHASED",
            "signedDate": .integer(purchase.signed),
            "revocationReason": isRevoked ? 0 : nil,
            "revocationDate": isRevoked ? .integer(purchase.signed - 5_000) : nil,
            "revocationType": kind.type == .refund ? "REFUND_FULL" : nil,
            "revocationPercentage": kind.type == .refund ? 100_000 : nil,
            "offerType": isOffer ? 2 : nil,
            "offerIdentifier": isOffer ? "welcome-back" : nil,
            "offerDiscountType": isOffer ? "PAY_AS_YOU_GO" : nil,
            "offerPeriod": isOffer ? "P1M" : nil,
            "environment": self.environmentName,
            "transactionReason": isFirst ? "PURCHASE" : "RENEWAL",
            "storefront": .text(purchase.storefront.country),
            "storefrontId": .text(purchase.storefront.id),
            "price": .integer(purchase.price),
            "currency": .text(purchase.storefront.currency),
            "appTransactionId": .text(purchase.appTransaction),
        ]
    }

    func renewal(_ kind: SimulatedNotification.Kind, _ purchase: Purchase) -> SimulatedJSON {
        let product = SimulatedJSON.text("\(self.productPrefix).\(purchase.product)")
        let isFailing = kind.type == .didFailToRenew || kind.type == .gracePeriodExpired
        let isOver = kind.type == .expired || kind.subtype == "AUTO_RENEW_DISABLED" || kind.type == .revoke
        return [
            "expirationIntent": kind.type == .expired ? .integer(Self.intent(kind.subtype)) : nil,
            "originalTransactionId": .text(purchase.original),
            "autoRenewProductId": kind.subtype == "DOWNGRADE" ? .text("\(self.productPrefix).weekly") : product,
            "productId": product,
            "autoRenewStatus": isOver ? 0 : 1,
            "isInBillingRetryPeriod": isFailing ? true : nil,
            "priceIncreaseStatus": kind.type == .priceIncrease ? (kind.subtype == "ACCEPTED" ? 1 : 0) : nil,
            "gracePeriodExpiresDate": kind.subtype == "GRACE_PERIOD"
                ? .integer(purchase.signed + 16 * Self.day) : nil,
            "signedDate": .integer(purchase.signed),
            "environment": self.environmentName,
            "recentSubscriptionStartDate": .integer(purchase.bought),
            "renewalDate": .integer(purchase.expires),
            "renewalPrice": isOver ? nil : .integer(purchase.price),
            "currency": isOver ? nil : .text(purchase.storefront.currency),
            "eligibleWinBackOfferIds": isOver ? ["come-back", "come-back-half"] : nil,
            "appTransactionId": .text(purchase.appTransaction),
            "appAccountToken": .text(purchase.accountToken),
        ]
    }

    /// `expirationIntent`: 1 the customer cancelled, 2 billing error, 3 no consent to a higher price, 4 not for sale.
    private static func intent(_ subtype: String?) -> Int64 {
        switch subtype {
        case "BILLING_RETRY": 2
        case "PRICE_INCREASE": 3
        case "PRODUCT_NOT_FOR_SALE": 4
        default: 1
        }
    }

    private mutating func appTransaction(_ purchase: Purchase) -> SimulatedJSON {
        let verification = (0..<6).flatMap { _ in
            withUnsafeBytes(of: self.values.number().littleEndian) { Array($0) }
        }
        return [
            "receiptType": self.environmentName,
            "appAppleId": self.number,
            "bundleId": self.bundleID,
            "applicationVersion": .text(Self.bundleVersion),
            "versionExternalIdentifier": 868_132_457,
            "receiptCreationDate": .integer(purchase.signed),
            "originalPurchaseDate": .integer(purchase.bought),
            "originalApplicationVersion": "307",
            "deviceVerification": .text(Data(verification).base64EncodedString()),
            "deviceVerificationNonce": .text(self.values.uuid()),
            "appTransactionId": .text(purchase.appTransaction),
            "originalPlatform": "iOS",
        ]
    }
}
