internal import ArgumentParser
internal import FerryOptions

/// The argument parser's message for a bad command line, without the values that it quotes. Any of them may be a
/// misplaced secret.
struct UsageError {
    /// The text that replaces a value.
    private static let placeholder = "…"
    /// The length of the shortest value that is replaced everywhere. Shorter values are not secrets, and occur in any
    /// sentence.
    private static let shortest = 4

    /// The arguments of the command line, without the program's name.
    var arguments: [String]
    /// The help of all commands. Words of the help are not secret.
    var help: String

    /// Returns the message without the values.
    ///
    /// - Parameter message: the parser's message, or a sentence about an option.
    func text(_ message: String) -> String {
        var text = message
        for value in self.values where !self.isHarmless(value) {
            text = text.replacing("'\(value)'", with: "'\(Self.placeholder)'")
            if value.utf8.count >= Self.shortest { text = text.replacing(value, with: Self.placeholder) }
        }
        // The parser may append an option with a similar name, so only the beginning of its message is compared.
        if let (option, hint) = Self.unknownOptions.first(where: { message.hasPrefix("Unknown option '\($0.key)'") }) {
            return "There is no option '\(option)' here. \(hint)"
        }
        guard text != message else { return Self.words(text) }
        let wanted = Self.wanted.first { message.contains("<\($0.key)>'") }.map { " \($0.value)" } ?? ""
        return "\(Self.words(text))\nWhat was given there is not shown: it may be a secret.\(wanted)"
    }

    /// The parser's sentence about an unknown option, in the words that all readers of options use.
    private static func words(_ text: String) -> String {
        let start = "Unknown option "
        guard text.hasPrefix(start) else { return text }
        let parts = text.dropFirst(start.count).split(separator: ". Did you mean '", maxSplits: 1)
        let meant = parts.count == 2 ? "; is \(parts[1].prefix { $0 != "'" }) meant?" : "."
        return "There is no option \(parts.first ?? "") here\(meant)"
    }

    /// The expected form of a value, by its name.
    private static let wanted = [
        "bundle": "The bundle ID of an app is wanted, such as com.example.app.",
        "bundle[:number]":
            "The bundle ID of an app is wanted, such as com.example.app, and after a colon its number, such as 1234567890.",
        "channel": "The id of a channel is wanted, such as dHN0LXNyY2gtY2hubA==.",
        "n": "A number is wanted.",
        "percent": "A number from 0 to 100 is wanted.",
        "port": "The number of a port is wanted.",
        "seconds": "A number of seconds is wanted, such as 5 or 0.5.",
        "host:port": "A host and a port are wanted, such as localhost:2197, without https:// and path.",
        "date": "A date is wanted, such as 2020-03-31 or 2020-03-31T12:00:00Z, or UNIX seconds.",
    ]
    /// Options that other commands have, each with the option of `ferry push`.
    private static let unknownOptions = [
        "--http2": "Over HTTP/2 send with --backend http2.",
        "--binary": "Over the binary protocol send with --backend binary.",
    ]

    /// All texts that the parser may quote. The longest come first, because a value may contain others.
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

    /// Whether a value is a word of the help or a misspelt option.
    private func isHarmless(_ value: String) -> Bool {
        if self.help.contains(value) { return true }
        guard value.hasPrefix("--"), value.utf8.count > 2 else { return false }
        let names = self.help.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init)
        if SimilarName.of(value, among: names.filter { $0.hasPrefix("--") }) != nil { return true }
        let words = Set(names.flatMap { $0.split(separator: "-") })
        return value.dropFirst(2).split(separator: "-", omittingEmptySubsequences: false).allSatisfy(words.contains)
    }
}
