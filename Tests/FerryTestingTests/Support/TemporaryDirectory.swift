internal import Foundation

func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)").path()
}

func fileSize(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
}

/// Creates a directory that exists during the call of the body.
func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
    let path = temporaryPath()
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
}
