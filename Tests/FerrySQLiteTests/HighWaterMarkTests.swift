import FerrySQLite
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite struct HighWaterMarkTests {
    private func withPath(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try body(directory.appending(path: "test.db-mark").path)
    }

    @Test func `a mark that cannot be opened says why`() throws {
        try self.withPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let mark = HighWaterMark(path: path)
            let uses: [() throws -> Void] = [
                { _ = try mark.check(last: 1, of: "test.db") }, { try mark.advance(to: 1) }, { try mark.take() },
            ]
            for use in uses {
                let error = #expect(throws: HighWaterMark.Fault.self) { try use() }
                #expect(error?.description.hasSuffix("Is a directory.") == true, "\(error?.description ?? "")")
            }
        }
    }

    @Test func `the newest owner is found, also in a mark that was replaced`() throws {
        try self.withPath { path in
            let first = HighWaterMark(path: path)
            try first.take()
            #expect(!first.isTaken)
            try FileManager.default.removeItem(atPath: path)
            #expect(!first.isTaken)
            let second = HighWaterMark(path: path)
            try second.take()
            #expect(first.isTaken && !second.isTaken)
        }
    }

    @Test func `a mark that was taken before its first commit counts as new`() throws {
        try self.withPath { path in
            let mark = HighWaterMark(path: path)
            try mark.take()
            #expect(try mark.check(last: 0, of: "test.db") == .isNew)
            #expect(try mark.check(last: 0, of: "test.db") == .agrees)
            #expect(!mark.isTaken)
        }
    }
}
