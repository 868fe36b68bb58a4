internal import FerryCore
internal import FerryOpenSSL

/// The check of `Authorization` by the App Store Server API.
///
/// ```
/// Bearer header.claims.signature
/// header: alg ES256, kid, typ JWT        claims: iss, iat, exp, aud "appstoreconnect-v1", bid
/// ```
///
/// Source: "Generating JSON Web Tokens for API requests" (App Store Server API). It demands `iat`; Apple's own client for
/// Python (version 3.1.2) sends none, and is served.
struct AppStoreTokenVerifier: Sendable {
    /// "Tokens that expire more than 60 minutes after the time in iat are not valid" (Apple)
    static let longestLife: Int64 = 3600
    static let audience = "appstoreconnect-v1"
    /// The longest accepted value, in bytes. Without this limit, a client could make the server parse long values.
    static let maximumLength = 4096
    /// How far the clocks of client and server may differ, in seconds.
    static let skew: Int64 = 60

    /// Known, for its public half.
    let key: ES256Key
    let keyID: String
    let issuerID: String
    let bundleID: String

    /// - Parameters:
    ///   - authorization: the value of the field; nil if the request does not have the field.
    ///   - now: seconds since 1970.
    func isValid(_ authorization: String?, now: Int64) -> Bool {
        guard let authorization, authorization.utf8.count <= Self.maximumLength else { return false }
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return false }
        let text = Array(words[1].utf8)
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Base64URL.decode(parts[0]).flatMap({ JSONClaims($0) }),
            let claims = Base64URL.decode(parts[1]).flatMap({ JSONClaims($0) }),
            let signature = Base64URL.decode(parts[2]),
            header.text("alg") == "ES256", header.text("kid") == self.keyID, header.text("typ") == "JWT",
            self.areOurs(claims, now: now)
        else { return false }
        return self.key.isValidSignature(signature, for: Array(text[..<parts[1].endIndex]))
    }

    private func areOurs(_ claims: JSONClaims, now: Int64) -> Bool {
        guard claims.text("iss") == self.issuerID, claims.text("aud") == Self.audience,
            claims.text("bid") == self.bundleID, let end = claims.seconds("exp"), 0...Int64(UInt32.max) ~= end,
            now < end
        else { return false }
        guard claims.has("iat") else { return end - now <= Self.longestLife + Self.skew }
        guard let issued = claims.seconds("iat"), 0...Int64(UInt32.max) ~= issued else { return false }
        return issued <= now + Self.skew && end - issued <= Self.longestLife
    }
}
