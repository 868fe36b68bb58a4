/// The values that an option takes.
package indirect enum OptionKind: Hashable, Sendable {
    case flag
    /// A whole number.
    case count(ClosedRange<Int>)
    /// A whole number that bounds something. Zero means no bound, except in C, where it is a bound of zero.
    case limit(upTo: Int)
    case number(ClosedRange<Double>)
    /// A time in seconds. Fractions are fine.
    case seconds
    /// A time in seconds that bounds something. Zero means no bound, except in C, where it is a bound of zero.
    case timeLimit
    /// One of these words.
    case choice([String])
    case text
    /// The name of a file.
    case file
    /// A text that no message may show.
    case secret
    /// A host, and perhaps a port after a colon.
    case address
    /// An object of options.
    case object
    case list(of: OptionKind)

    package static let texts = OptionKind.list(of: .text)

    /// Returns the words for the values: "`--loops` takes *a whole number, 1 to 64*".
    package func wanted(in language: OptionLanguage) -> String {
        switch self {
        case .flag: return "true or false"
        case .count(let range): return "a whole number, \(range.lowerBound) to \(range.upperBound)"
        case .limit(let most): return "a whole number, 0 to \(most)"
        case .number(let range): return "a number, \(range.lowerBound.shortest) to \(range.upperBound.shortest)"
        case .seconds, .timeLimit:
            let times = self.times(in: language)
            let least = times.lowerBound == 0 ? "0 to" : "more than 0 and at most"
            return "seconds, \(least) \(times.upperBound.shortest)"
        case .choice(let words): return "one of \(words.map { "\"\($0)\"" }.joined(separator: ", "))"
        case .text, .file, .secret: return "a string"
        case .address: return "HOST:PORT"
        case .object: return "an object"
        case .list(let element): return "a list of \(element == .object ? "objects" : "strings")"
        }
    }

    /// Returns `value` in the form that the table's setters take; nil if `value` is of another type, out of range, or
    /// not one of the words.
    package func value(_ value: OptionValue, in language: OptionLanguage) -> OptionValue? {
        let isGood =
            switch (self, value) {
            case (.flag, .boolean), (.text, .text), (.file, .text), (.secret, .text), (.address, .text),
                (.object, .object):
                true
            case (.count(let range), .number(let number)): Int(exactly: number).map(range.contains) ?? false
            case (.limit(let most), .number(let number)): Int(exactly: number).map { 0...most ~= $0 } ?? false
            case (.number(let range), .number(let number)): range.contains(number)
            case (.seconds, .number(let number)), (.timeLimit, .number(let number)):
                self.times(in: language).contains(number)
            case (.choice(let words), .text(let word)): words.contains(word)
            case (.list(let element), .list(let values)): values.allSatisfy { element.value($0, in: language) != nil }
            default: false
            }
        guard isGood else { return nil }
        return language != .c && self.isBound && value == .number(0) ? .null : value
    }

    private var isBound: Bool {
        switch self {
        case .limit, .timeLimit: true
        default: false
        }
    }

    /// Returns the permitted times, in seconds.
    ///
    /// Outside of C, only a ``timeLimit`` may be zero. Any other time is at least a nanosecond, the least that the
    /// clocks can represent. The most is a day. With the C interface, the most is 1,000,000 seconds. A program may
    /// also pass zero there, and the library decides whether zero is good.
    private func times(in language: OptionLanguage) -> ClosedRange<Double> {
        language == .c ? 0...1e6 : (self == .timeLimit ? 0 : 1e-9)...86_400
    }
}

extension Double {
    /// The number as text, without a fraction if it is whole.
    package var shortest: String { Int(exactly: self).map(String.init) ?? "\(self)" }
}
