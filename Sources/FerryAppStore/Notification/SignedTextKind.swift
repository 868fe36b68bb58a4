internal import FerryCore

/// The kind of a signed text of the App Store, judged by its content. The signature is not checked.
package enum SignedTextKind: Hashable, Sendable {
    case notification
    case transaction
    case renewal
    case appTransaction

    /// Returns nil if the text has none of these kinds, or is not a signed text.
    package init?(signedText text: [UInt8]) {
        guard let jws = try? CompactJWS(text), let payload = JSONObject(jws.payload) else { return nil }
        if payload.has("notificationUUID") || payload.has("notificationType") {
            self = .notification
        } else if payload.has("receiptType") {
            self = .appTransaction
        } else if payload.has("transactionId") {
            self = .transaction
        } else if payload.has("autoRenewStatus") || payload.has("autoRenewProductId") {
            self = .renewal
        } else {
            return nil
        }
    }

    /// The kind in words: "a signed transaction".
    package var words: String {
        switch self {
        case .notification: "a notification"
        case .transaction: "a signed transaction"
        case .renewal: "a signed renewal"
        case .appTransaction: "a signed app transaction"
        }
    }

    /// Returns a text without white space around it.
    package static func trimmed(_ text: some Collection<UInt8>) -> [UInt8] {
        let space = Array(" \n\r\t".utf8)
        return Array(text.drop { space.contains($0) }.reversed().drop { space.contains($0) }.reversed())
    }

    /// The members of the App Store Server API's answers that hold one signed text each.
    private static let members = ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"]

    /// Returns the signed text in `json`; nil if `json` is not an object with exactly one of ``members``, or if the
    /// object has `signedPayload`.
    package static func text(in json: [UInt8]) -> [UInt8]? {
        guard let object = JSONObject(json), object.has("signedPayload") == false else { return nil }
        let texts = Self.members.compactMap { object.string($0) }
        return texts.count == 1 ? texts.first.map { Array($0.utf8) } : nil
    }
}
