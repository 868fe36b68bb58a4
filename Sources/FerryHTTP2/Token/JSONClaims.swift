internal import FerryCore

/// The members of a token's JSON object that the client needs.
package struct JSONClaims {
    private enum Claim {
        case text(String)
        case seconds(Int64)
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
                        } else if let seconds = member.value.seconds(in: bytes) {
                            .seconds(seconds)
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

    package func has(_ name: String) -> Bool { self.claims[name] != nil }

    package func text(_ name: String) -> String? {
        if case .text(let text) = self.claims[name] { text } else { nil }
    }

    /// The value of a number, which may be a time: NumericDate of RFC 7519, section 2. A fraction is dropped.
    package func seconds(_ name: String) -> Int64? {
        if case .seconds(let seconds) = self.claims[name] { seconds } else { nil }
    }
}

extension JSONValue {
    fileprivate func seconds(in text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard self.kind == .number else { return nil }
        if let integer = self.integer(in: text) { return integer }
        let number = Double(String(decoding: self.bytes(in: text), as: UTF8.self))
        return number.flatMap { Int64(exactly: $0.rounded(.down)) }
    }
}
