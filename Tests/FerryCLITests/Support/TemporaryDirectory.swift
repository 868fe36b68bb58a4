import Foundation

/// A directory that is gone when a test is over.
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
    func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        try Data(bytes).write(to: self.url.appending(path: name))
        return self.path(name)
    }

    func write(_ name: String, _ text: String) throws -> String {
        try self.write(name, text.utf8)
    }

    func read(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: self.url.appending(path: name)), as: UTF8.self)
    }
}
