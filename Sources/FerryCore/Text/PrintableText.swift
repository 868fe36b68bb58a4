extension String {
    /// The text on one line, with nothing in it that acts on a terminal or hides: each control character, line or
    /// paragraph separator and invisible mark of format stands as `\u{1B}`.
    ///
    /// For text that a peer or a file made up, wherever a person reads it. A certificate may be issued to a name that
    /// moves the cursor, and a line break in it would pass for a line of Ferry's own.
    package var printable: String {
        guard !self.isPrintable else { return self }
        var text = ""
        for scalar in self.unicodeScalars {
            if scalar.isPrintable {
                text.unicodeScalars.append(scalar)
            } else {
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return text
    }

    private var isPrintable: Bool {
        self.utf8.allSatisfy { 0x20...0x7e ~= $0 } || self.unicodeScalars.allSatisfy(\.isPrintable)
    }
}

extension Unicode.Scalar {
    /// Marks of format (Cf) turn the direction of writing around, or are not seen at all.
    fileprivate var isPrintable: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
