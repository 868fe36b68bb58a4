internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform

/// The signature of a forwarded notification. The signature follows Standard Webhooks. Libraries for most languages
/// can check it.
///
/// ```
/// webhook-id:        the notification's UUID
/// webhook-timestamp: seconds since 1970
/// webhook-signature: v1,base64(HMAC-SHA256(secret, id "." timestamp "." body))
///                    one such value for each secret, with spaces between
/// ```
///
/// Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
package struct WebhookSignature: Sendable {
    private static let prefix = "whsec_"
    /// The permitted lengths of a secret: "between 24 bytes (192 bits) and 64 bytes (512 bits)" (same source).
    private static let lengths = 24...64

    private let keys: [[UInt8]]

    /// Returns nil if a secret has another form.
    ///
    /// - Parameter secrets: the secrets as the standard writes them: `whsec_` and Base64. During a change of secrets,
    ///   pass the new and the old secret.
    package init?(secrets: [String]) {
        var keys: [[UInt8]] = []
        for secret in secrets {
            guard secret.hasPrefix(Self.prefix),
                let key = Data(base64Encoded: String(secret.dropFirst(Self.prefix.count))),
                Self.lengths.contains(key.count)
            else { return nil }
            keys.append(Array(key))
        }
        self.keys = keys
    }

    /// Returns the signature's headers for a request.
    func headers(id: String, seconds: Int64, body: [UInt8]) -> [(String, String)] {
        let message = Array("\(id).\(seconds).".utf8) + body
        let signatures = self.keys.map { key in
            "v1,\(Data(SHA256.authenticate(message, key: key)).base64EncodedString())"
        }
        return [
            ("webhook-id", id), ("webhook-timestamp", "\(seconds)"),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}
