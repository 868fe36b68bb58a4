import Foundation

/// A directory that is removed at the end of a test.
struct TemporaryDirectory: Sendable {
    private let url: URL

    static func with<Result>(_ body: (TemporaryDirectory) async throws -> Result) async throws -> Result {
        let directory = TemporaryDirectory(
            url: FileManager.default.temporaryDirectory.appending(path: "ferry-cli-\(UUID().uuidString)")
        )
        try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory.url) }
        return try await body(directory)
    }

    func path(_ name: String) -> String { self.url.appending(path: name).path }

    /// Writes a file and returns its path.
    ///
    /// - Parameter mode: the permission bits. Ferry warns about secrets that other users may read.
    func write(_ name: String, _ bytes: some Sequence<UInt8>, mode: Int = 0o600) throws -> String {
        try Data(bytes).write(to: self.url.appending(path: name))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.path(name))
        return self.path(name)
    }

    func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        try self.write(name, text.utf8, mode: mode)
    }

    /// The permission bits of a file.
    func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: self.path(name))
        return attributes[.posixPermissions] as? Int ?? 0
    }

    func read(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: self.url.appending(path: name)), as: UTF8.self)
    }
}
