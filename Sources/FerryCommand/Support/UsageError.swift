internal import ArgumentParser

/// What the argument parser says of a bad command line, without the values that it quotes: any of them may be a secret in
/// the wrong place.
struct UsageError {
    /// What stands in place of a value.
    private static let placeholder = "…"
    /// Shorter values keep no secret, and every sentence has them.
    private static let shortest = 4

    /// The arguments of the command line, without the program's name.
    var arguments: [String]
    /// The help of all commands: what stands there is no secret.
    var help: String

    /// - Parameter message: the parser's own words, or a sentence about an option.
    func text(_ message: String) -> String {
        var text = message
        for value in self.values where !self.isHarmless(value) {
            text = text.replacing("'\(value)'", with: "'\(Self.placeholder)'")
            if value.utf8.count >= Self.shortest { text = text.replacing(value, with: Self.placeholder) }
        }
        return text == message ? text : "\(text)\nWhat was given there is not shown: it may be a secret."
    }

    /// Everything that the parser may quote, the longest first: a value may have others in it.
    private var values: [String] {
        var values: Set<String> = []
        for argument in self.arguments {
            values.insert(argument)
            guard argument.hasPrefix("-"), let sign = argument.firstIndex(of: "=") else { continue }
            values.insert(String(argument[..<sign]))
            values.insert(String(argument[argument.index(after: sign)...]))
        }
        return values.filter { !$0.isEmpty }.sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
    }

    /// Whether a value tells nothing that the help does not, or is a misspelt option.
    private func isHarmless(_ value: String) -> Bool {
        if self.help.contains(value) { return true }
        guard value.hasPrefix("--"), value.utf8.count > 2 else { return false }
        let names = self.help.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init)
        if SimilarName.of(value, among: names.filter { $0.hasPrefix("--") }) != nil { return true }
        let words = Set(names.flatMap { $0.split(separator: "-") })
        return value.dropFirst(2).split(separator: "-", omittingEmptySubsequences: false).allSatisfy(words.contains)
    }
}
