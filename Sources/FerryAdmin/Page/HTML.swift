/// Pieces of a page for people.
package enum HTML {
    /// The text with the characters escaped that mean something in HTML, also between quotation marks.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}

/// Figures as text, for a page and for a terminal.
package enum FigureText {
    /// A whole number with thin groups of three digits: "1 234 567". The script of the page writes the same.
    package static func number(_ number: Int) -> String {
        var digits = ""
        for (index, digit) in String(number.magnitude).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3) { digits.append("\u{202f}") }
            digits.append(digit)
        }
        return (number < 0 ? "−" : "") + String(digits.reversed())
    }

    /// A rate for each second.
    package static func rate(_ rate: Double) -> String {
        rate >= 10 ? self.number(Int(rate.rounded())) : "\((rate * 10).rounded() / 10)"
    }

    /// A time in seconds: "12 ms", "1.5 s", "3 min", "5 h", "2 d"; "–" for none.
    package static func time(_ seconds: Double?) -> String {
        guard let seconds else { return "–" }
        return switch seconds {
        case ..<1: "\(Int((seconds * 1000).rounded())) ms"
        case ..<120: "\((seconds * 10).rounded() / 10) s"
        case ..<7200: "\(Int(seconds / 60)) min"
        case ..<172_800: "\(Int(seconds / 3600)) h"
        default: "\(Int(seconds / 86_400)) d"
        }
    }
}
