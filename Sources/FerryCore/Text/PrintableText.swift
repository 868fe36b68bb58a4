extension String {
    /// The text on one line, without characters that act on a terminal or are invisible. Each control character, line
    /// or paragraph separator and invisible mark of format is written as an escape such as `\u{1B}`.
    ///
    /// Use it wherever a person reads text from a peer or a file. A certificate may be issued to a name that moves the
    /// cursor. A line break in that name would look like a line of Ferry's own.
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
    /// Whether the scalar is neither a control nor a separator of lines nor a mark of format (Cf). Marks of format turn
    /// the direction of writing, or are invisible.
    fileprivate var isPrintable: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
