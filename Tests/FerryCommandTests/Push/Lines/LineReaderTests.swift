import Foundation
import Testing

@testable import FerryCommand

@Suite struct LineReaderTests {
    static func lines(of text: String) async throws -> [String] {
        try await TemporaryDirectory.with { directory in
            let reader = try LineReader(path: directory.write("lines", text))
            var lines: [String] = []
            repeat {
                while let line = reader.next() {
                    switch line {
                    case .bytes(let bytes): lines.append(String(decoding: bytes, as: UTF8.self))
                    case .tooLong: lines.append("too long")
                    }
                }
            } while try await reader.fill()
            return lines
        }
    }

    @Test(arguments: ["", "\n", "a", "a\n", "a\nb", "\n\na\n\n", "a\r\nb\n"])
    func `short files are split at line breaks`(text: String) async throws {
        var expected = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        if expected.last == "" { expected.removeLast() }
        #expect(try await Self.lines(of: text) == expected)
    }

    @Test func `a byte order mark at the beginning is skipped, and nowhere else`() async throws {
        #expect(try await Self.lines(of: "\u{feff}a\n\u{feff}b") == ["a", "\u{feff}b"])
        #expect(try await Self.lines(of: "\u{feff}") == [""])
        #expect(try await Self.lines(of: "\n\u{feff}a") == ["", "\u{feff}a"])
    }

    @Test func `lines across pieces stay whole`() async throws {
        let expected = (0..<200).map { String(repeating: "x", count: $0 * 97) }
        #expect(try await Self.lines(of: expected.joined(separator: "\n")) == expected)
    }

    @Test func `a line that is too long is told once and left out`() async throws {
        let long = String(repeating: "x", count: LineReader.lineLimit * 3)
        #expect(try await Self.lines(of: "a\n\(long)\nb\n\(long)") == ["a", "too long", "b", "too long"])
    }

    @Test func `who waits for input is woken by an interrupt`() async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory.path("pipe")
            #expect(mkfifo(path, 0o600) == 0)
            // Opening a FIFO for both directions does not block, and keeps it open and silent.
            let end = open(path, O_RDWR)
            defer { close(end) }
            let reader = try LineReader(path: path)
            async let filled = reader.fill()
            reader.interrupt()
            #expect(try await filled)
            #expect(!reader.hasLine)
            #expect(try await !reader.fill())
        }
    }
}

extension LineReader {
    fileprivate var hasLine: Bool { self.next() != nil }
}
