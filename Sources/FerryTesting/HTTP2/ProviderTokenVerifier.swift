package import FerryCore
internal import FerryHTTP2
package import FerryOpenSSL
internal import FerryPlatform

/// The check of `authorization` by APNs. It reads `bearer`, one space and a JSON Web Token, and checks the token.
///
/// The order of the checks: there is a token; its form (three parts, base64url, JSON); `alg` is ES256; `kid` and `iss`
/// name a known key; the signature; `iat`, which may have a fraction. For a token that was checked before, the cost is a comparison of its bytes
/// and of the time.
///
/// Source: "Establishing a token-based connection to APNs" (Apple); RFC 7515 (JWS), RFC 7519 (JWT).
package struct ProviderTokenVerifier: Sendable {
    /// A known key, with its identifier and its team.
    package struct Key: Sendable {
        package var key: ES256Key
        package var keyID: String
        package var teamID: String

        package init(_ key: ES256Key, keyID: String, teamID: String) {
            self.key = key
            self.keyID = keyID
            self.teamID = teamID
        }
    }

    /// A valid token.
    package struct Token: Sendable, Hashable {
        /// `kid`
        package var keyID: String
        /// `iss`
        package var teamID: String
        /// `iat`, seconds since the UNIX epoch.
        package var issuedAt: Int64
        /// A hash of the token. It is stable within this process.
        package var fingerprint: Int
    }

    package enum Verdict: Sendable, Hashable {
        case ok(Token)
        /// ``Reason/missingProviderToken``, ``Reason/invalidProviderToken`` or ``Reason/expiredProviderToken``.
        case refused(Reason)
    }

    /// A remembered value of `authorization`, with its verdict before the check of the time.
    private struct Seen {
        var value: [UInt8]
        var verdict: Verdict
    }

    /// "The value must be no more than one hour from the current time." (`iat`, Apple)
    package static let longestAge: Int64 = 3600
    /// The longest accepted value, in bytes. A provider token has some 200 bytes. Without this limit, a client could
    /// make the server parse and keep long values.
    package static let maximumLength = 2048
    /// The number of values that are remembered.
    package static let memoryLength = 4

    private let keys: [Key]
    /// The remembered values, the most recently used first.
    private var memory: [Seen] = []

    package init(_ keys: [Key]) {
        self.keys = keys
    }

    /// - Parameters:
    ///   - authorization: the value of the field; nil if the request does not have the field.
    ///   - epochSeconds: the time, in seconds since the UNIX epoch.
    package mutating func verify(_ authorization: UnsafeBufferPointer<UInt8>?, epochSeconds: UInt32) -> Verdict {
        guard let authorization else { return .refused(.missingProviderToken) }
        guard authorization.count <= Self.maximumLength else { return .refused(.invalidProviderToken) }
        if let first = self.memory.first, Self.isEqual(first.value, authorization) {
            return Self.atTime(epochSeconds, first.verdict)
        }
        return Self.atTime(epochSeconds, self.recall(authorization))
    }

    private mutating func recall(_ authorization: UnsafeBufferPointer<UInt8>) -> Verdict {
        let seen: Seen
        if let place = self.memory.firstIndex(where: { Self.isEqual($0.value, authorization) }) {
            seen = self.memory.remove(at: place)
        } else {
            if self.memory.count >= Self.memoryLength { self.memory.removeLast() }
            seen = Seen(value: Array(authorization), verdict: self.judge(authorization))
        }
        self.memory.insert(seen, at: 0)
        return seen.verdict
    }

    private static func isEqual(_ value: [UInt8], _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard value.count == other.count, let base = other.baseAddress else { return value.isEmpty && other.isEmpty }
        return value.withUnsafeBytes { value in
            value.baseAddress.map { memcmp($0, base, value.count) == 0 } ?? true
        }
    }

    /// Apple names the reason for an old token. Of a token from the future, Apple says only that it is invalid.
    private static func atTime(_ epochSeconds: UInt32, _ verdict: Verdict) -> Verdict {
        guard case .ok(let token) = verdict else { return verdict }
        let now = Int64(epochSeconds)
        if token.issuedAt < now - self.longestAge { return .refused(.expiredProviderToken) }
        if token.issuedAt > now + self.longestAge { return .refused(.invalidProviderToken) }
        return verdict
    }

    private func judge(_ authorization: UnsafeBufferPointer<UInt8>) -> Verdict {
        guard let text = Self.token(authorization) else { return .refused(.missingProviderToken) }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Base64URL.decode(parts[0]).flatMap({ JSONClaims($0) }),
            let claims = Base64URL.decode(parts[1]).flatMap({ JSONClaims($0) }),
            let signature = Base64URL.decode(parts[2]),
            header.text("alg") == "ES256",
            let keyID = header.text("kid"), let teamID = claims.text("iss"), let issuedAt = claims.seconds("iat"),
            let known = self.keys.first(where: { $0.keyID == keyID && $0.teamID == teamID }),
            Self.isSignature(signature, by: known.key, of: Array(text[..<parts[1].endIndex]))
        else { return .refused(.invalidProviderToken) }
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(authorization))
        return .ok(Token(keyID: keyID, teamID: teamID, issuedAt: issuedAt, fingerprint: hasher.finalize()))
    }

    /// RFC 7518 wants 64 bytes. APNs also takes DER, which Pushy sends (github.com/kylebrowning/APNSwift, issue 36).
    private static func isSignature(_ signature: [UInt8], by key: ES256Key, of message: [UInt8]) -> Bool {
        signature.count == ES256Key.signatureLength
            ? key.isValidSignature(signature, for: message) : key.isValidSignature(der: signature, for: message)
    }

    /// Returns the bytes after `bearer` and a space; nil if there are no bytes, or the scheme is not `bearer`.
    ///
    /// The scheme is compared without regard to case (RFC 9110, section 11.1).
    private static func token(_ authorization: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>>? {
        let scheme = authorization.prefix { $0 != UInt8(ascii: " ") }
        let token = authorization[scheme.endIndex...].dropFirst()
        guard scheme.lazy.map({ $0 | 0x20 }).elementsEqual("bearer".utf8), !token.isEmpty else { return nil }
        return token
    }
}
