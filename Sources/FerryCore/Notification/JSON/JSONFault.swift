/// The place where a text stops being JSON, and the reason. Quotes nothing of the text, which may hold tokens and
/// messages.
package struct JSONFault: Error, Hashable, CustomStringConvertible {
    /// The offset of the first byte that does not belong there; the length of the text if it ends too early.
    package var offset: Int
    package var reason: Reason

    package init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    package var description: String { "\(self.reason.rawValue) at byte \(self.offset)" }

    /// The fault in words.
    package enum Reason: String, Sendable {
        case notAnObject = "no JSON object"
        case endsEarly = "the text ends too early"
        case expectedValue = "no value"
        case expectedKey = "no member name"
        case trailingComma = "a comma before the closing bracket"
        case expectedColon = "no colon after the member name"
        case expectedComma = "neither a comma nor the closing bracket"
        case badLiteral = "neither true, false nor null"
        case badNumber = "a malformed number"
        case badEscape = "a malformed escape"
        case loneSurrogate = "an escaped surrogate without its pair"
        case controlCharacter = "an unescaped control character"
        case badUTF8 = "malformed UTF-8"
        case tooDeep = "too many nested brackets"
        case trailingBytes = "bytes after the value"
    }
}
