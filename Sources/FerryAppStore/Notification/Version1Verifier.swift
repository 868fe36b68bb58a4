internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform

/// A verifier of notifications of version 1, which Apple deprecated. Such a notification has no signature. The shared
/// secret in `password` is its only proof.
struct Version1Verifier: Sendable {
    private let sharedSecrets: [[UInt8]]

    init(_ sharedSecrets: [String]) {
        self.sharedSecrets = sharedSecrets.map { Array($0.utf8) }
    }

    func verify(_ post: JSONObject) throws(AppStoreVerificationError) -> AppStoreNotification {
        guard let type = post.string("notification_type"), let bundleID = post.string("bid"),
            let environment = post.string("environment")
        else {
            throw AppStoreVerificationError(
                .malformed,
                "A notification of version 1 has notification_type, bid and environment."
            )
        }
        let password = Array((post.string("password") ?? "").utf8)
        // All secrets are compared, even after a match. Otherwise the time of the answer would show which secret
        // matched.
        let isKnown = self.sharedSecrets.reduce(false) { SHA256.areEqual($1, password) || $0 }
        guard isKnown, !password.isEmpty else {
            throw AppStoreVerificationError(.forged, "password is not the shared secret.")
        }
        let facts = Facts(post)
        return AppStoreNotification(
            uuid: facts.key,
            type: AppStoreNotificationType(rawValue: type),
            subtype: nil,
            version: .one,
            signedDate: facts.newest.map(Date.init(milliseconds:)),
            // Apple's documentation has "PROD", and posts have "Production".
            environment: environment.uppercased().hasPrefix("PROD") ? .production : .init(rawValue: environment),
            bundleID: bundleID,
            appAppleID: nil,
            customer: facts.customer,
            json: PlainJSON.make(post, without: "password")
        )
    }

    /// The key, the customer and the newest date. The key is a hash of members that are equal in all copies of a
    /// notification. The receipt itself differs between copies.
    private struct Facts {
        private static let members = [
            "notification_type", "bid", "environment", "original_transaction_id", "auto_renew_adam_id",
            "auto_renew_product_id", "auto_renew_status", "expiration_intent", "auto_renew_status_change_date_ms",
            "cancellation_date_ms",
        ]
        private static let transactionMembers = [
            "transaction_id", "original_transaction_id", "purchase_date_ms", "expires_date_ms", "cancellation_date_ms",
        ]

        let key: String
        let customer: String?
        /// The newest date of a purchase, a cancellation or a change of the renewal status, in milliseconds since
        /// 1970.
        let newest: Int64?

        init(_ post: JSONObject) {
            let transactions = post.object("unified_receipt")?.objects("latest_receipt_info") ?? []
            let dates = transactions.flatMap { transaction in
                ["purchase_date_ms", "cancellation_date_ms"].compactMap { Self.date(transaction, $0) }
            }
            let latest = transactions.max { one, other in
                (Self.date(one, "purchase_date_ms") ?? 0) < (Self.date(other, "purchase_date_ms") ?? 0)
            }
            self.newest = (dates + [Self.date(post, "auto_renew_status_change_date_ms")].compactMap(\.self)).max()
            self.customer = post.string("original_transaction_id") ?? latest?.string("original_transaction_id")
            // A refund or a cancellation may change an older transaction. So the key includes all transactions.
            var text = Self.members.map { Self.text(post, $0) }
            text += transactions.map { transaction in
                Self.transactionMembers.map { Self.text(transaction, $0) }.joined(separator: ",")
            }.sorted()
            let hash = SHA256.hash(Array(text.joined(separator: "\n").utf8))
            self.key = "v1-\(Array(hash.prefix(16)).hexadecimal)"
        }

        private static func text(_ object: JSONObject, _ name: String) -> String {
            guard let value = object.value(name) else { return "" }
            return String(decoding: object.json(value), as: UTF8.self)
        }

        /// Returns a date in milliseconds since 1970; nil if the member is not a date from 1970 to 9999. Version 1
        /// writes most numbers as strings.
        private static func date(_ object: JSONObject, _ name: String) -> Int64? {
            let number = object.integer(name) ?? object.string(name).flatMap(Int64.init)
            return number.flatMap { SignatureVerifier.dates.contains($0) ? $0 : nil }
        }
    }
}
