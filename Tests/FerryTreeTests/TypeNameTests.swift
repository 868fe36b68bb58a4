import Foundation
import Testing

@Suite struct TypeNameTests {
    private static let kinds: Set<Substring> = ["actor", "class", "enum", "protocol", "struct", "typealias"]
    /// Words that may stand before the kind.
    private static let modifiers: Set<Substring> = [
        "final", "indirect", "internal", "nonisolated", "package", "public",
    ]

    /// Two types of one name make a reader, a search and a merge take the one for the other. Private types are of their
    /// files alone.
    @Test func `a name at the top level of Sources names one type`() throws {
        var places: [String: [String]] = [:]
        for file in Tree.files(in: "Sources") {
            var names: Set<String> = []
            var isDeprecated = false
            for line in try Tree.lines(file) where line.first?.isLetter == true || line.first == "@" {
                // The old name of a public type may stand beside the new one.
                if !isDeprecated, let name = Self.name(in: line) { names.insert(name) }
                isDeprecated = line.hasPrefix("@available(*, deprecated")
            }
            for name in names { places[name, default: []].append(file) }
        }
        #expect(places.count > 500)
        for (name, files) in places.sorted(by: { $0.key < $1.key }) {
            #expect(files.count == 1, "\(name) is declared in \(files): rename one of them, and its file with it.")
        }
    }

    /// The name of the type that a line declares, if it is not private.
    private static func name(in line: String) -> String? {
        var words = line.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "@") }[...]
        while let word = words.first, Self.modifiers.contains(word) || word.hasPrefix("@") { words = words.dropFirst() }
        guard let kind = words.first, Self.kinds.contains(kind), words.count > 1 else { return nil }
        return String(words[words.startIndex + 1])
    }
}
