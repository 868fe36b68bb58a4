import Foundation
import Testing

@testable import FerryAppStore

@Suite struct CheckpointFileTests {
    private let checkpoint = RecoveryCheckpoint(
        bundleId: "com.example.app",
        environment: "Production",
        onlyFailures: true,
        asked: 1,
        from: 2,
        to: 3,
        paginationToken: "a/b",
        setAside: [.init(code: "forged", reason: "…", count: 2)]
    )

    @Test func `a checkpoint is read as it was written, only by its owner, and leaves no draft`() throws {
        try withTemporaryDirectory { directory in
            let file = CheckpointFile(path: "\(directory)/recovery.json")
            #expect(try file.read() == nil)
            try file.write(self.checkpoint)
            var next = self.checkpoint
            next.pages = 7
            try file.write(next)
            #expect(try file.read() == next)
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["recovery.json"])
        }
    }

    @Test(arguments: ["", "{", "[]", #"{"format":2}"#])
    func `a file that is not a checkpoint is refused`(_ text: String) throws {
        try withTemporaryDirectory { directory in
            let file = CheckpointFile(path: "\(directory)/recovery.json")
            try Data(text.utf8).write(to: URL(filePath: file.path))
            do throws(AppStoreRecoveryError) {
                _ = try file.read()
                Issue.record("it was read")
            } catch {
                #expect(error.code == .checkpointUnreadable)
            }
        }
    }

    @Test func `a path that cannot be written is named as the fault`() throws {
        do throws(AppStoreRecoveryError) {
            try CheckpointFile(path: "/nonexistent/recovery.json").write(self.checkpoint)
            Issue.record("it was written")
        } catch {
            #expect(error.code == .checkpointUnwritable)
            #expect(error.description.contains("No such file or directory"))
        }
    }
}

func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    return try body(directory)
}
