import FerryCore
import Foundation
import Testing

@Suite struct FileStartTests {
    // The macros of the tests do not know errors of one type.
    private static func read(_ path: String, limit: Int) throws -> [UInt8] { try FileStart.read(path, limit: limit) }

    private static func with(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "ferry-start-\(UUID().uuidString)")
        try Data(bytes).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        try body(url.path)
    }

    @Test func `a file is read without a byte order mark, which counts as no byte of it`() throws {
        try Self.with(FileStart.byteOrderMark + [1, 2, 3]) { (path: String) throws in
            #expect(try Self.read(path, limit: 3) == [1, 2, 3])
            #expect(try Self.read(path, limit: 2).count > 2)
        }
        try Self.with([1, 2, 3]) { (path: String) throws in
            #expect(try Self.read(path, limit: 3) == [1, 2, 3])
            #expect(try Self.read(path, limit: 2).count > 2)
        }
    }

    @Test func `of a file without an end only so much is read that its length shows`() throws {
        #expect(try Self.read("/dev/zero", limit: 1 << 20).count <= FileStart.reach(1 << 20))
    }

    @Test func `a file that cannot be read is told with the system's number`() {
        let missing = #expect(throws: FileStart.Failure.self) { try Self.read("/nonexistent/file", limit: 1) }
        #expect(missing?.code == ENOENT)
        let directory = #expect(throws: FileStart.Failure.self) { try Self.read("/", limit: 1) }
        #expect(directory?.code == EISDIR)
    }
}
