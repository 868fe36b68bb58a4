/// The identifier of a key or of a team: 10 characters, A to Z and 0 to 9. Not a secret.
///
/// Source: "Establishing a token-based connection to APNs" (Apple): `kid` and `iss` are 10 characters.
package struct DeveloperIdentifier: Hashable, Sendable, CustomStringConvertible {
    package static let length = 10

    package let text: String

    /// Nil if ``fault(in:)`` finds a fault.
    package init?(_ text: String) {
        guard Self.fault(in: text) == nil else { return nil }
        self.text = text
    }

    /// Returns why `text` is not an identifier, as the end of a sentence without a quotation; nil if it is one.
    package static func fault(in text: String) -> String? {
        let length = text.count
        guard length == Self.length else {
            return "must be \(Self.length) capital letters and digits, and this has \(length) characters"
        }
        let isWellFormed = text.utf8.allSatisfy {
            UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
        }
        return isWellFormed ? nil : "must be \(Self.length) capital letters and digits, and this has others"
    }

    package var description: String { self.text }
}
