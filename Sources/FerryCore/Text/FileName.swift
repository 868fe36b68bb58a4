internal import FerryPlatform

/// A text that was given as the name of a file. It decides whether a message may show it.
///
/// Options that take the name of a file with a secret are easily given the secret itself: a passphrase, a key in
/// Base64, a whole configuration. There is no file with such a name, so the text would end up in an error, and then in
/// a log. Every message that names a file asks this type for the name.
///
/// A text is shown if one of these holds, and is hidden otherwise:
///
/// * the file exists;
/// * its directory exists and is not `/` alone;
/// * it has an ending of credentials or of Ferry's own files, such as `.pem`, and only characters of plain names.
package struct FileName: Hashable, Sendable {
    package let path: String
    /// The text as it was given.
    private let text: String

    package init(_ path: String) { self.init(path, givenAs: path) }

    /// - Parameter text: what the path was made of, in front of which stands a directory that was not given. It exists,
    ///   and proves nothing of the text.
    package init(_ path: String, givenAs text: String) {
        self.path = path
        self.text = text
    }

    /// The name for a message; nil if the text may be a secret. Asks the file system each time.
    package var shown: String? { self.isSurelyAName ? self.path.printable : nil }

    /// Returns a sentence about the file: "The file tls/key.pem does not exist."
    ///
    /// - Parameters:
    ///   - predicate: the statement about the file, such as "does not exist".
    ///   - option: the option that named the file, such as `--key`. It replaces a name that is not shown.
    package func sentence(_ predicate: String, option: String? = nil) -> String {
        if let shown { return "The file \(shown) \(predicate)." }
        guard let option else { return "The file that was named \(predicate). \(Self.whyHidden)" }
        return "The file of \(option) \(predicate). \(Self.whyHidden)"
    }

    /// Returns the name, or "the file of" and `option` if the name is not shown.
    package func words(option: String) -> String { self.shown ?? "the file of \(option)" }

    package static let whyHidden =
        "What was given is not shown: it may be a secret, and the name of a file belongs there."

    // MARK: What a name looks like

    /// PATH_MAX of Linux.
    private static let longestPath = 4096
    /// NAME_MAX of Linux.
    private static let longestName = 255
    private static let endings: Set<Substring> = [
        "pem", "p8", "p12", "pfx", "key", "crt", "cer", "der", "csr", "jwt", "txt", "json", "jsonl", "transcript", "db",
    ]

    private var isSurelyAName: Bool {
        guard 1...Self.longestPath ~= self.path.utf8.count else { return false }
        return Self.exists(self.path) || self.hasDirectory || self.hasPlainName
    }

    private var hasDirectory: Bool {
        guard self.text.contains("/"), let slash = self.path.lastIndex(of: "/") else { return false }
        let directory = self.path[..<slash]
        // Every absolute path begins with `/`, so the existence of `/` proves nothing.
        return directory.contains { $0 != "/" } && Self.exists(String(directory), asDirectory: true)
    }

    private var hasPlainName: Bool {
        guard let name = self.path.split(separator: "/").last, name.utf8.count <= Self.longestName,
            let dot = name.lastIndex(of: "."), dot > name.startIndex
        else { return false }
        return Self.endings.contains(Substring(name[name.index(after: dot)...].lowercased()))
            && self.path.allSatisfy { $0.isLetter || $0.isNumber || "._-/~".contains($0) }
    }

    private static func exists(_ path: String, asDirectory isDirectory: Bool = false) -> Bool {
        var status = stat()
        guard stat(path, &status) != 0 else { return !isDirectory || status.st_mode & S_IFMT == S_IFDIR }
        // EACCES: the directories before the forbidden one exist, so the text is a path.
        return errno == EACCES
    }
}
