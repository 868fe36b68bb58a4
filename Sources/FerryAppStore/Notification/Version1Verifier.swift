internal import FerryCore
internal import FerryOpenSSL

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Notifications of version 1, which Apple deprecated. They are not signed: the shared secret in `password` is their only
/// proof.
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
        // All secrets are compared, so that the time does not tell which of them came near.
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
            // "PROD" in the documentation, "Production" in posts.
            environment: environment.uppercased().hasPrefix("PROD") ? .production : .init(rawValue: environment),
            bundleID: bundleID,
            appAppleID: nil,
            customer: facts.customer,
            json: PlainJSON.make(post, without: "password")
        )
    }

    /// What two copies of one notification have in common. The receipt is not: it differs between copies.
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
        /// Milliseconds since 1970.
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
            // A refund or a cancellation changes an older transaction, so all of them count.
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

        /// Returns a date in milliseconds; nil if it is no date. Version 1 writes most numbers as strings.
        private static func date(_ object: JSONObject, _ name: String) -> Int64? {
            let number = object.integer(name) ?? object.string(name).flatMap(Int64.init)
            return number.flatMap { SignatureVerifier.dates.contains($0) ? $0 : nil }
        }
    }
}
