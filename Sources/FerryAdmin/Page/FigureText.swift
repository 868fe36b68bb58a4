/// Figures as text, for a page and for a terminal.
package enum FigureText {
    /// Returns a whole number with thin spaces between groups of three digits: "1 234 567". The script of the page
    /// writes the same.
    package static func number(_ number: Int) -> String {
        var digits = ""
        for (index, digit) in String(number.magnitude).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3) { digits.append("\u{202f}") }
            digits.append(digit)
        }
        return (number < 0 ? "−" : "") + String(digits.reversed())
    }

    /// Returns a rate per second as text. Below 10 it has one decimal.
    package static func rate(_ rate: Double) -> String {
        rate >= 10 ? self.number(Int(rate.rounded())) : "\((rate * 10).rounded() / 10)"
    }
}
