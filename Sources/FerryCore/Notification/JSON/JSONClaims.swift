/// The header or the claims of a JSON Web Token.
package struct JSONClaims {
    private let object: JSONObject

    /// Returns nil if `bytes` are not a JSON object, contain a name twice (RFC 7515, section 4; RFC 7519, section 4),
    /// or contain a text with half a surrogate pair.
    package init?(_ bytes: [UInt8]) {
        guard let object = JSONObject(bytes) else { return nil }
        // A text with half a surrogate pair has no value. Its claim would look as if it were missing.
        guard object.members.allSatisfy({ $0.value.kind != .string || object.string($0.name) != nil }) else {
            return nil
        }
        self.object = object
    }

    package func has(_ name: String) -> Bool { self.object.has(name) }

    package func text(_ name: String) -> String? { self.object.string(name) }

    /// The value of a number, which may be a time: NumericDate of RFC 7519, section 2. A fraction is dropped.
    package func seconds(_ name: String) -> Int64? {
        guard let value = self.object.value(name), value.kind == .number else { return nil }
        if let integer = self.object.integer(name) { return integer }
        let number = Double(String(decoding: self.object.json(value), as: UTF8.self))
        return number.flatMap { Int64(exactly: $0.rounded(.down)) }
    }
}
