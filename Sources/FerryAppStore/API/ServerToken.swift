internal import FerryCore
internal import FerryOpenSSL

/// The bearer tokens of the App Store Server API. The type has no clock: the time is an argument.
///
/// ```
/// header: {"alg":"ES256","kid":…,"typ":"JWT"}
/// claims: {"iss":…,"iat":…,"exp":…,"aud":"appstoreconnect-v1","bid":…}
/// ```
///
/// Source: "Generating JSON Web Tokens for API requests" (Apple).
struct ServerToken {
    /// The time from `iat` to `exp`, in seconds. Apple accepts at most 60 minutes.
    static let lifetime: Int64 = 30 * 60
    /// The time from the replacement of a token to its expiry (`exp`), in seconds. Without this reserve, a token could
    /// expire on the way to Apple.
    static let reserve: Int64 = 5 * 60

    private struct Made {
        var text: String
        var issuedAt: Int64
    }

    private let key: ES256Key
    private let header: [UInt8]
    private let issuerID: String
    private let bundleID: String
    private var current: Made?

    init(key: ES256Key, keyID: String, issuerID: String, bundleID: String) {
        self.key = key
        self.header =
            Array("{\"alg\":\"ES256\",\"kid\":".utf8) + JSONText.quoted(keyID) + Array(",\"typ\":\"JWT\"}".utf8)
        self.issuerID = issuerID
        self.bundleID = bundleID
    }

    /// Returns a token that is valid now. Cost: 30 µs if a new token must be signed.
    ///
    /// - Parameter now: seconds since 1970.
    mutating func text(at now: Int64) throws(TLSError) -> String {
        // A token with a later `iat` than `now` was made before the clock was set back. Apple would refuse this
        // token. So a new token is made.
        if let current, 0...Self.lifetime - Self.reserve ~= now - current.issuedAt { return current.text }
        let claims =
            Array("{\"iss\":".utf8) + JSONText.quoted(self.issuerID)
            + Array(",\"iat\":\(now),\"exp\":\(now + Self.lifetime),\"aud\":\"appstoreconnect-v1\",\"bid\":".utf8)
            + JSONText.quoted(self.bundleID) + [UInt8(ascii: "}")]
        let input = Base64URL.encode(self.header) + [UInt8(ascii: ".")] + Base64URL.encode(claims)
        let signature = try self.key.sign(input)
        let text = String(decoding: input + [UInt8(ascii: ".")] + Base64URL.encode(signature), as: UTF8.self)
        self.current = Made(text: text, issuedAt: now)
        return text
    }
}
