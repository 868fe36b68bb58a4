internal import FerryPlatform

/// The first bytes of a file, in memory. Without a limit, `/dev/zero` would fill the memory.
package enum FileStart {
    /// The mark U+FEFF, which some editors put before a text.
    package static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

    /// The bytes to read at most, to see that a file has more than `limit` of them: one more, and a byte order mark.
    package static func reach(_ limit: Int) -> Int { limit + 1 + self.byteOrderMark.count }

    /// The system's error number.
    package struct Failure: Error, Equatable {
        package static let noSuchFile = Failure(code: ENOENT)
        package static let noPermission = Failure(code: EACCES)

        package let code: Int32
    }

    /// Reads a file, or a pipe, without a byte order mark.
    ///
    /// - Returns: the whole file, or more than `limit` bytes of a longer one.
    package static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        let reach = self.reach(limit)
        guard let file = fopen(path, "rb") else { throw Failure(code: errno) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < reach {
            let count = fread(&chunk, 1, min(chunk.count, reach - bytes.count), file)
            guard count > 0 else {
                guard ferror(file) == 0 else { throw Failure(code: errno) }
                break
            }
            bytes += chunk[..<count]
        }
        return bytes.withoutByteOrderMark
    }
}

extension [UInt8] {
    /// The bytes after a byte order mark; all bytes if there is none. No binary file that Ferry reads begins with its bytes.
    package var withoutByteOrderMark: [UInt8] {
        self.starts(with: FileStart.byteOrderMark) ? Array(self.dropFirst(FileStart.byteOrderMark.count)) : self
    }
}
