import Foundation
import Testing

/// A FIFO that is full: a write to it waits until somebody reads.
final class FullPipe {
    let path: String
    private let reader: Int32

    init(in directory: TemporaryDirectory, _ name: String = "full") throws {
        self.path = directory.path(name)
        #expect(mkfifo(self.path, 0o600) == 0)
        self.reader = open(self.path, O_RDONLY | O_NONBLOCK)
        let writer = open(self.path, O_WRONLY | O_NONBLOCK)
        try #require(self.reader >= 0 && writer >= 0)
        let page = [UInt8](repeating: UInt8(ascii: "x"), count: 4096)
        while write(writer, page, page.count) > 0 {}
        close(writer)
    }

    deinit { close(self.reader) }

    /// Reads what there is, without what the pipe was filled with.
    func read() -> String {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = Foundation.read(self.reader, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)).drop { $0 == UInt8(ascii: "x") }, as: UTF8.self)
    }
}
