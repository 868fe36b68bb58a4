import Foundation

/// The files of this repository, as text.
enum Tree {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    static func bytes(_ path: String) throws -> Data { try Data(contentsOf: self.root.appending(path: path)) }

    static func text(_ path: String) throws -> String { String(decoding: try self.bytes(path), as: UTF8.self) }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: self.root.appending(path: path).path())
    }

    /// The names in a folder.
    static func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.root.appending(path: folder).path()).sorted()
    }

    /// The paths of the files in a folder and below it. Leaves out the build products of nested packages.
    static func files(in folder: String, ending: String = ".swift") -> [String] {
        let paths = FileManager.default.enumerator(atPath: self.root.appending(path: folder).path())
        return (paths.map { $0.compactMap { $0 as? String } } ?? [])
            .filter { $0.hasSuffix(ending) && !$0.contains(".build/") }
            .map { "\(folder)/\($0)" }
            .sorted()
    }

    /// The lines of a file.
    static func lines(_ path: String) throws -> [String] {
        try self.bytes(path).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

extension String {
    /// The texts between each `start` and the next `end`.
    func parts(from start: String, to end: String) -> [String] {
        self.components(separatedBy: start).dropFirst().map { $0.components(separatedBy: end)[0] }
    }

    /// The text of a section of a page, from its heading to the next one of the same level or a higher one.
    func section(_ heading: String) -> String? {
        let level = heading.prefix { $0 == "#" }.count
        var lines = self.components(separatedBy: "\n")[...]
        guard let start = lines.firstIndex(of: heading) else { return nil }
        lines = lines[(start + 1)...]
        let end = lines.firstIndex { line in
            let marks = line.prefix { $0 == "#" }.count
            return 1...level ~= marks && line.dropFirst(marks).first == " "
        }
        return lines[..<(end ?? lines.endIndex)].joined(separator: "\n")
    }
}
