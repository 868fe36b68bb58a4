internal import FerryCore

/// The members of a token's JSON object that the client needs.
package struct JSONClaims {
    private enum Claim {
        case text(String)
        case integer(Int64)
        case other
    }

    private var claims: [String: Claim] = [:]

    /// Nil when `bytes` are no JSON object, or contain a name twice (RFC 7515, section 4; RFC 7519, section 4).
    package init?(_ bytes: [UInt8]) {
        let isWhole = bytes.withUnsafeBufferPointer { bytes in
            var members = JSONMembers(bytes)
            do {
                while let member = try members.next() {
                    let claim: Claim =
                        if let text = try member.value.text?.decoded(in: bytes) {
                            .text(text)
                        } else if let integer = member.value.integer(in: bytes) {
                            .integer(integer)
                        } else {
                            .other
                        }
                    let name = try member.key.decoded(in: bytes)
                    guard self.claims.updateValue(claim, forKey: name) == nil else { return false }
                }
                return true
            } catch {
                return false
            }
        }
        guard isWhole else { return nil }
    }

    package func text(_ name: String) -> String? {
        if case .text(let text) = self.claims[name] { text } else { nil }
    }

    package func integer(_ name: String) -> Int64? {
        if case .integer(let integer) = self.claims[name] { integer } else { nil }
    }
}
