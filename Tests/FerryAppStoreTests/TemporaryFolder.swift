import Foundation

/// A folder that is removed with its last reference.
final class TemporaryFolder {
    let url: URL

    init() throws {
        self.url = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.url) }

    func path(_ name: String) -> String { self.url.appending(path: name).path() }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: self.url.path())) ?? []).sorted() }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: self.url.appending(path: name))
        return self.path(name)
    }

    func text(_ name: String) throws -> String {
        try String(contentsOf: self.url.appending(path: name), encoding: .utf8)
    }
}
