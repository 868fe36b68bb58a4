#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A text that was given as the name of a file, and whether a message may show it.
///
/// Options that take the name of a file with a secret are easily given the secret itself: a passphrase, a key in Base64,
/// a whole configuration. Such a text is no file's name, so it ends up in an error, and with that in a log. Every message
/// that names a file asks here what it may show.
///
/// A text is shown if one of these holds, and is hidden otherwise:
///
/// * there is such a file;
/// * there is the directory that it names, other than `/` alone;
/// * it has an ending of credentials or of Ferry's own files, such as `.pem`, and no characters but those of plain names.
package struct FileName: Hashable, Sendable {
    /// As it was given.
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// What a message may show; nil when the text may be a secret. Asks the file system each time.
    package var shown: String? { self.isSurelyAName ? self.path.printable : nil }

    /// A sentence about the file: "The file tls/key.pem does not exist."
    ///
    /// - Parameters:
    ///   - predicate: what is true of it.
    ///   - option: where it was given, such as `--key`. It stands in place of a name that is not shown.
    package func sentence(_ predicate: String, option: String? = nil) -> String {
        if let shown { return "The file \(shown) \(predicate)." }
        guard let option else { return "The file that was named \(predicate). \(Self.whyHidden)" }
        return "The file of \(option) \(predicate). \(Self.whyHidden)"
    }

    /// - Parameter option: see ``sentence(_:option:)``.
    package func words(option: String) -> String { self.shown ?? "the file of \(option)" }

    package static let whyHidden =
        "What was given is not shown: it may be a secret, and the name of a file belongs there."

    // MARK: What a name looks like

    /// PATH_MAX of Linux.
    private static let longestPath = 4096
    /// NAME_MAX of Linux.
    private static let longestName = 255
    private static let endings: Set<Substring> = [
        "pem", "p8", "p12", "pfx", "key", "crt", "cer", "der", "csr", "jwt", "txt", "json", "jsonl", "transcript",
    ]

    private var isSurelyAName: Bool {
        guard 1...Self.longestPath ~= self.path.utf8.count else { return false }
        return Self.exists(self.path) || self.hasDirectory || self.hasPlainName
    }

    private var hasDirectory: Bool {
        guard let slash = self.path.lastIndex(of: "/") else { return false }
        let directory = self.path[..<slash]
        // Everything that begins with a slash stands in the root, so that says nothing.
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
        // The system went through directories that exist until it met one that it may not look into.
        return errno == EACCES
    }
}
