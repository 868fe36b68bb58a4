internal import FerryCore

/// A provider token that was made elsewhere, and its own statements about itself. Its signature is not checked.
///
/// No description of this type shows the token.
package struct GivenToken: Sendable, Equatable {
    /// The longest text that can be a token. Tokens for APNs have about 200 bytes.
    package static let longest = 4096

    /// The token alone.
    package let text: [UInt8]
    /// The identifier of the key that signed it (`kid`); nil when the token does not say.
    package let keyID: String?
    /// The team (`iss`); nil when the token does not say.
    package let teamID: String?
    /// The time at which it was made (`iat`), in seconds since 1970; nil when the token does not say.
    package let issuedAt: UInt32?

    /// Reads a token that may have white space or `bearer` around it.
    ///
    /// The result is nil for bytes that no field of a request can carry, and for an incomplete JSON Web Token, because
    /// a file may be read while it is being written.
    package init?(_ bytes: some Collection<UInt8>) {
        var text = bytes.drop(while: Self.isSpace)[...]
        let scheme = Array("bearer ".utf8)
        if text.prefix(scheme.count).map({ $0 | 0x20 }) == scheme { text = text.dropFirst(scheme.count) }
        var token = Array(text)
        while let last = token.last, Self.isSpace(last) { token.removeLast() }
        guard 1...Self.longest ~= token.count, token.allSatisfy({ 0x21...0x7e ~= $0 }) else { return nil }
        self.text = token
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap({ JSONClaims($0) }) else {
            if token.starts(with: Self.beginning) { return nil }
            (self.keyID, self.teamID, self.issuedAt) = (nil, nil, nil)
            return
        }
        if header.text("alg") == "ES256", !Self.isWhole(Base64URL.decode(parts[2]) ?? []) { return nil }
        let claims = Base64URL.decode(parts[1]).flatMap { JSONClaims($0) }
        self.keyID = header.text("kid")
        self.teamID = claims?.text("iss")
        self.issuedAt = claims?.seconds("iat").flatMap { UInt32(exactly: $0) }
    }

    /// Whether nothing is missing of a signature by ES256: 64 bytes, or a sequence in DER form, which APNs takes, too
    /// (github.com/kylebrowning/APNSwift, issue 36).
    private static func isWhole(_ signature: [UInt8]) -> Bool {
        signature.count == 64 || signature.count > 2 && signature[0] == 0x30 && Int(signature[1]) == signature.count - 2
    }

    /// `{"` in Base64: the beginning of every JSON Web Token.
    private static let beginning = Array("eyJ".utf8)

    private static func isSpace(_ byte: UInt8) -> Bool {
        [0x20, 0x09, 0x0a, 0x0d].contains(byte)
    }
}

extension GivenToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a provider token of key \(self.keyID?.debugDescription ?? "unknown")" }

    package var debugDescription: String { self.description }

    package var customMirror: Mirror { Mirror(self, children: ["keyID": self.keyID as Any]) }
}
