internal import FerryTesting
internal import Foundation
internal import Testing

@Suite struct TranscriptWriterTests {
    @Test func `a connection with too large a number is not recorded, and the ones before it can be read`()
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

    @Test func `a transcript and a record are for their owner only, and a file that is there keeps its mode`() throws {
        try withTemporaryDirectory { directory in
            let (new, old, record) = ("\(directory)/new", "\(directory)/old", "\(directory)/record")
            try Data().write(to: URL(filePath: old))
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: old)
            for path in [new, old] { _ = try TranscriptWriter(path: path, service: .gateway, redacts: false) }
            _ = try GatewayFileRecorder(path: record)
            let modes = try [new, old, record].map { path in
                try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            }
            #expect(modes == [0o600, 0o640, 0o600])
        }
    }

    @Test func `a file that cannot be opened is named only if it surely is a file's name`() throws {
        for (path, words) in [("/none/none.transcript", "/none/none.transcript: "), ("/none/hunter2", "No such file")] {
            let error = #expect(throws: FileError.self) {
                try TranscriptWriter(path: path, service: .gateway, redacts: false)
            }
            #expect(error?.description.hasPrefix(words) == true)
        }
    }
}
