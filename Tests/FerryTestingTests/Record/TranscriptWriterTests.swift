internal import FerryTesting
internal import Foundation
internal import Testing

@Suite struct TranscriptWriterTests {
    @Test func `a connection of a number that no transcript has is not recorded, and what was before can be read`()
        throws
    {
        let path = temporaryPath()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try TranscriptWriter(path: path, service: .gateway, redacts: false)
        writer.note(65_535, .client, .open)
        #expect(writer.failure == nil)
        writer.note(65_536, .client, .open)
        writer.flush()
        #expect(writer.failure is TranscriptError)
        #expect(try Transcript(contentsOfFile: path).connections == [65_535])
    }

    @Test(.timeLimit(.minutes(10))) func `a pipe that nobody reads is an error at once`() throws {
        let path = temporaryPath()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try #require(mkfifo(path, 0o600) == 0)
        let error = #expect(throws: FileError.self) {
            try TranscriptWriter(path: path, service: .gateway, redacts: false)
        }
        #expect(error?.code == ENXIO)
    }
}
