import Foundation
import Testing

@testable import FerryGateway

@Suite struct ListWriterTests {
    private struct Place {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)")
        var path: String { self.directory.appending(path: "list").path() }

        init() throws { try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true) }

        func read(_ name: String = "list") throws -> String {
            try String(contentsOf: self.directory.appending(path: name), encoding: .utf8)
        }

        func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: self.path)) }

        func rename(to name: String) throws {
            try FileManager.default.moveItem(atPath: self.path, toPath: self.directory.appending(path: name).path())
        }
    }

    private func with(_ body: (Place) throws -> Void) throws {
        let place = try Place()
        defer { try? FileManager.default.removeItem(at: place.directory) }
        try body(place)
    }

    private func writer(_ place: Place) throws -> ListWriter {
        let writer = ListWriter(path: place.path, survivesPowerLoss: false)
        try writer.begin()
        return writer
    }

    private static func lines(_ numbers: ClosedRange<Int>) -> [[UInt8]] {
        numbers.map { Array("{\"event\":\"gone\",\"number\":\($0)}\n".utf8) }
    }

    private static func text(_ numbers: ClosedRange<Int>) -> String {
        String(decoding: self.lines(numbers).joined(), as: UTF8.self)
    }

    @Test func `lines that a killed process wrote and did not note are not written again`() throws {
        try self.with { place in
            let killed = try self.writer(place)
            let first = killed.append(ListBatch(lines: Self.lines(1...3), after: nil))
            #expect(first.count == 3 && first.trouble == nil)
            // The kill comes before the store has the place of this batch.
            _ = killed.append(ListBatch(lines: Self.lines(4...5), after: first.place))
            let next = try self.writer(place)
            let answer = next.append(ListBatch(lines: Self.lines(4...8), after: first.place))
            #expect(answer.count == 5)
            #expect(try place.read() == Self.text(1...8))
            #expect(answer.place?.offset == UInt64(Self.text(1...8).utf8.count))
        }
    }

    @Test func `half a line of a killed process is removed, and written whole`() throws {
        try self.with { place in
            let killed = try self.writer(place)
            let first = killed.append(ListBatch(lines: Self.lines(1...3), after: nil))
            for length in 1..<Self.lines(4...4).joined().count {
                try place.write(Self.text(1...3) + Self.text(4...4).prefix(length))
                // A file of another process.
                let status = try FileManager.default.attributesOfItem(atPath: place.path)
                var after = try #require(first.place)
                after.inode = try #require(status[.systemFileNumber] as? UInt64)
                let answer = try self.writer(place).append(ListBatch(lines: Self.lines(4...5), after: after))
                #expect(answer.count == 2)
                #expect(try place.read() == Self.text(1...5), "\(length)")
            }
        }
    }

    @Test func `lines of others between the lines of a killed process do no harm`() throws {
        try self.with { place in
            let killed = try self.writer(place)
            let first = killed.append(ListBatch(lines: Self.lines(1...1), after: nil))
            _ = killed.append(ListBatch(lines: Self.lines(2...2), after: first.place))
            let file = try FileHandle(forWritingTo: URL(filePath: place.path))
            try file.seekToEnd()
            try file.write(contentsOf: Data("a note\nwithout an end".utf8))
            try file.close()
            let answer = try self.writer(place).append(ListBatch(lines: Self.lines(2...3), after: first.place))
            #expect(answer.count == 2)
            #expect(try place.read() == Self.text(1...2) + "a note\nwithout an end\n" + Self.text(3...3))
        }
    }

    @Test func `a file that is renamed is left, and a new one is made`() throws {
        try self.with { place in
            let writer = try self.writer(place)
            let first = writer.append(ListBatch(lines: Self.lines(1...2), after: nil))
            try place.rename(to: "list.1")
            let second = writer.append(ListBatch(lines: Self.lines(3...4), after: first.place))
            #expect(try place.read("list.1") == Self.text(1...2))
            #expect(try place.read() == Self.text(3...4))
            // The kill comes before the place in the new file is noted, or after a rotation.
            let answer = try self.writer(place).append(ListBatch(lines: Self.lines(3...5), after: first.place))
            #expect(answer.count == 3)
            #expect(try place.read() == Self.text(3...5))
            _ = second
        }
    }

    @Test func `lines in a file that was renamed after the kill are not written again`() throws {
        try self.with { place in
            let killed = try self.writer(place)
            let first = killed.append(ListBatch(lines: Self.lines(1...1), after: nil))
            _ = killed.append(ListBatch(lines: Self.lines(2...2), after: first.place))
            try place.rename(to: "list.1")
            let answer = try self.writer(place).append(ListBatch(lines: Self.lines(2...3), after: first.place))
            #expect(answer.count == 2)
            #expect(try place.read() == Self.text(3...3))
        }
    }

    @Test func `a file whose contents were copied and removed goes on`() throws {
        try self.with { place in
            let writer = try self.writer(place)
            let first = writer.append(ListBatch(lines: Self.lines(1...2), after: nil))
            truncate(place.path, 0)
            let second = writer.append(ListBatch(lines: Self.lines(3...3), after: first.place))
            #expect(second.place?.offset == UInt64(Self.text(3...3).utf8.count))
            let answer = try self.writer(place).append(ListBatch(lines: Self.lines(3...4), after: first.place))
            #expect(answer.count == 2)
            #expect(try place.read() == Self.text(3...4))
        }
    }

    @Test func `a FIFO that nobody reads takes nothing, and stops nothing`() throws {
        try self.with { place in
            #expect(mkfifo(place.path, 0o600) == 0)
            let writer = try self.writer(place)
            #expect(writer.append(ListBatch(lines: Self.lines(1...1), after: nil)).trouble == "nobody reads it")
            let reader = open(place.path, O_RDONLY | O_NONBLOCK)
            defer { close(reader) }
            let answer = writer.append(ListBatch(lines: Self.lines(1...2), after: nil))
            #expect(answer == ListAnswer(count: 2))
            var bytes = [UInt8](repeating: 0, count: 1000)
            let count = read(reader, &bytes, bytes.count)
            #expect(String(decoding: bytes.prefix(count), as: UTF8.self) == Self.text(1...2))
        }
    }

    @Test func `a directory is no list`() throws {
        try self.with { place in
            let writer = ListWriter(path: place.directory.path(), survivesPowerLoss: false)
            #expect(throws: ListFile.Fault.self) { try writer.begin() }
        }
    }
}
