internal import FerryAppStore
internal import FerryMachine
internal import FerryPlatform

/// What a notification of version 1 says. All numbers are strings, as Apple writes them.
///
/// Source: the pages "responseBodyV1" and "unified_receipt" of App Store Server Notifications V1.
struct Version1Content: Sendable {
    /// "latest_receipt_info: an array of the latest 100 in-app purchase transactions" ("unified_receipt", Apple)
    static let longestList = 100
    /// The bytes of a receipt for each transaction, about as in the App Store's.
    private static let receiptBytes = 150

    private let members: SimulatedJSON.Members
    private let receiptFacts: SimulatedJSON.Members
    private let transactionCount: Int
    private let receiptSeed: UInt64

    init(
        _ kind: SimulatedNotification.Kind,
        app: AppStoreApp,
        environment: AppStoreEnvironment,
        sharedSecret: String,
        purchase: NotificationValues.Purchase,
        transactionCount: Int,
        receiptSeed: UInt64
    ) {
        let product = "\(app.bundleID).premium.\(purchase.product)"
        let isOff = kind.type == .cancel || kind.type == .revoke
        var members = SimulatedJSON.Members()
        members.add("notification_type", .text(kind.type.rawValue))
        members.add("password", .text(sharedSecret))
        // "environment: […] Possible values: Sandbox, PROD" ("responseBodyV1", Apple)
        members.add("environment", .text(environment == .production ? "PROD" : environment.rawValue))
        members.add("bid", .text(app.bundleID))
        members.add("bvrs", "412")
        members.add("auto_renew_adam_id", app.appAppleID.map { .text(String($0)) })
        members.add("auto_renew_product_id", .text(product))
        members.add("auto_renew_status", isOff ? "false" : "true")
        if kind.type == .didChangeRenewalStatus {
            for (name, value) in Self.dates("auto_renew_status_change_date", purchase.signed) {
                members.add(name, value)
            }
        }
        if kind.type == .didFailToRenew || kind.type == .cancel {
            members.add("expiration_intent", kind.type == .cancel ? "1" : "2")
        }
        members.add("original_transaction_id", .text(purchase.original))

        let count = min(max(transactionCount, 1), Self.longestList)
        let isRefund = kind.type == .refund || kind.type == .cancel
        var receipt = SimulatedJSON.Members()
        receipt.add("environment", .text(environment.rawValue))
        receipt.add("status", 0)
        receipt.add(
            "latest_receipt_info",
            .list(
                (0..<count).map { age in
                    Self.transaction(purchase, product: product, age: Int64(age), isRefunded: isRefund && age == 0)
                }
            )
        )
        receipt.add(
            "pending_renewal_info",
            [
                [
                    "auto_renew_product_id": .text(product),
                    "original_transaction_id": .text(purchase.original),
                    "product_id": .text(product),
                    "auto_renew_status": isOff ? "0" : "1",
                    "is_in_billing_retry_period": kind.type == .didFailToRenew ? "1" : nil,
                ]
            ]
        )
        self.members = members
        self.receiptFacts = receipt
        self.transactionCount = count
        self.receiptSeed = receiptSeed
    }

    private init(_ other: Version1Content, receiptSeed: UInt64) {
        self.members = other.members
        self.receiptFacts = other.receiptFacts
        self.transactionCount = other.transactionCount
        self.receiptSeed = receiptSeed
    }

    /// The same content with another receipt: "the receipt differs between copies" (Apple's developer forum, thread 716641).
    func withReceipt(seed: UInt64) -> Version1Content { Version1Content(self, receiptSeed: seed) }

    /// The body of the post.
    var post: [UInt8] {
        var receipt = self.receiptFacts
        receipt.add("latest_receipt", .text(self.receipt))
        var members = self.members
        members.add("unified_receipt", .object(receipt))
        return SimulatedJSON.object(members).bytes
    }

    private var receipt: String {
        var generator = SplitMix64(seed: self.receiptSeed)
        var bytes = [UInt8](repeating: 0, count: Self.receiptBytes * (self.transactionCount + 10))
        for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: generator.next()) }
        return Data(bytes).base64EncodedString()
    }

    private static func transaction(
        _ purchase: NotificationValues.Purchase,
        product: String,
        age: Int64,
        isRefunded: Bool
    ) -> SimulatedJSON {
        let month: Int64 = 30 * 86_400_000
        var members = SimulatedJSON.Members()
        members.add("quantity", "1")
        members.add("product_id", .text(product))
        members.add("transaction_id", .text(age == 0 ? purchase.transaction : "\(purchase.transaction)\(age)"))
        members.add("original_transaction_id", .text(purchase.original))
        members.add("web_order_line_item_id", .text(purchase.webOrderLine))
        let dates = [
            ("purchase_date", purchase.renewed - age * month), ("original_purchase_date", purchase.bought),
            ("expires_date", purchase.expires - age * month),
        ]
        for (prefix, date) in dates {
            for (name, value) in Self.dates(prefix, date) { members.add(name, value) }
        }
        if isRefunded {
            for (name, value) in Self.dates("cancellation_date", purchase.signed - 5_000) { members.add(name, value) }
            members.add("cancellation_reason", "0")
        }
        members.add("is_trial_period", "false")
        members.add("is_in_intro_offer_period", "false")
        members.add("subscription_group_identifier", "21482456")
        members.add("in_app_ownership_type", "PURCHASED")
        return .object(members)
    }

    /// A date three times: as text in GMT, in milliseconds, and as text in Pacific time. The last is written in standard
    /// time the whole year: no reader should need it.
    private static func dates(_ name: String, _ milliseconds: Int64) -> [(String, SimulatedJSON)] {
        [
            (name, .text("\(self.text(milliseconds)) Etc/GMT")),
            ("\(name)_ms", .text(String(milliseconds))),
            ("\(name)_pst", .text("\(self.text(milliseconds - 8 * 3_600_000)) America/Los_Angeles")),
        ]
    }

    private static func text(_ milliseconds: Int64) -> String {
        Date(millisecondsSince1970: milliseconds / 1000 * 1000).formatted(
            .iso8601.year().month().day().dateSeparator(.dash).time(includingFractionalSeconds: false)
                .timeSeparator(.colon).dateTimeSeparator(.space)
        )
    }
}
