import NIOCore

/// Formats numbers like the pages of `Docs`.
enum Figure {
    /// `1000`, or `65,536` for five digits and more.
    static func count(_ number: Int) -> String {
        guard number >= 10_000 else { return "\(number)" }
        var groups: [Substring] = []
        var rest = "\(number)"[...]
        while !rest.isEmpty {
            groups.insert(rest.suffix(3), at: 0)
            rest = rest.dropLast(3)
        }
        return groups.joined(separator: ",")
    }

    /// `96 KiB`, in the largest unit that divides the number.
    static func bytes(_ number: Int) -> String {
        for (power, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] where number.isMultiple(of: 1 << power) {
            return "\(number >> power) \(unit)"
        }
        return "\(self.count(number)) bytes"
    }

    /// `250 ms`, in the largest unit that divides the time.
    static func time(_ duration: Duration) -> String {
        let units: [(Duration, String)] = [
            (.seconds(3600), "h"), (.seconds(1), "s"), (.milliseconds(1), "ms"), (.microseconds(1), "µs"),
        ]
        for (unit, name) in units where duration >= unit {
            let number = duration / unit
            if number == number.rounded() { return "\(self.count(Int(number))) \(name)" }
        }
        return "\(duration)"
    }

    static func time(_ amount: TimeAmount) -> String { self.time(Duration.nanoseconds(amount.nanoseconds)) }

    /// `250 ms to 30 s`.
    static func range(_ range: ClosedRange<Duration>) -> String {
        "\(self.time(range.lowerBound)) to \(self.time(range.upperBound))"
    }
}

/// A row of a table in a page of `Docs`.
struct TableRow: CustomStringConvertible {
    var page: String
    /// The heading of the second level above the row.
    var section: Substring
    var text: Substring

    /// All rows of a page.
    static func all(of page: String, _ text: String) -> [TableRow] {
        var rows: [TableRow] = []
        var section: Substring = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("## ") { section = line.dropFirst(3) }
            if line.hasPrefix("|") { rows.append(TableRow(page: page, section: section, text: line)) }
        }
        return rows
    }

    var description: String { "\(self.page), \(self.section): \(self.text)" }

    /// The texts in backticks.
    var names: [Substring] {
        self.text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }
            .map(\.element)
    }

    /// Whether the row contains the figure as separate words: 10 is not in 100 or 10,000.
    func says(_ figure: String) -> Bool { Self.words(self.text).contains(Self.words(figure[...])) }

    private static func words(_ text: Substring) -> [Substring] {
        text.split { $0.isWhitespace || "|`()".contains($0) }.map { word in
            var word = word
            while let last = word.last, ",;:.".contains(last) { word.removeLast() }
            return word
        }
    }
}
