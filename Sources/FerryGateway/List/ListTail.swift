internal import FerryPlatform

/// The end of a list of rejections, after the last noted place.
///
/// A process may be killed after it wrote lines and before it noted their end. These lines are then behind the last
/// noted place, in order, but other programs may have written lines between them. If the file was renamed meanwhile,
/// the next process looks for the file in the same directory.
struct ListTail {
    /// The largest number of bytes that are read. It has room for a batch, and for lines of other programs.
    private static let longest = 4 << 20
    /// The longest line of the list, in bytes.
    static let longestLine = 4096

    /// The largest number of files in the directory that are looked at.
    private static let mostFiles = 10_000

    private let bytes: [UInt8]

    /// Returns nil if the file cannot be opened.
    init?(path: String, from offset: Int) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < Self.longest {
            let count = pread(descriptor, &piece, piece.count, off_t(offset + bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        self.bytes = bytes
    }

    /// The bytes after the last line break; all bytes if there is no line break.
    var half: ArraySlice<UInt8> {
        self.bytes.lastIndex(of: UInt8(ascii: "\n")).map { self.bytes[($0 + 1)...] } ?? self.bytes[...]
    }

    /// Returns the number of first lines that are in the file already.
    ///
    /// - Parameters:
    ///   - lines: the lines, each with its line break.
    ///   - place: the noted place. Lines of the list may follow it.
    ///   - path: the present file of the list.
    static func present(of lines: [[UInt8]], after place: ListPlace, in path: String) -> Int {
        var rest = lines[...]
        for (path, offset) in self.files(path, place) {
            guard let tail = ListTail(path: path, from: offset) else { continue }
            for line in tail.bytes.split(separator: UInt8(ascii: "\n")) {
                guard let next = rest.first, next.dropLast().elementsEqual(line) else { continue }
                rest.removeFirst()
            }
        }
        return lines.count - rest.count
    }

    /// The files that may have lines after the place, in order, each with the offset at which these lines begin.
    private static func files(_ path: String, _ place: ListPlace) -> [(path: String, offset: Int)] {
        var status = stat()
        let isThere = stat(path, &status) == 0
        if isThere, place.isIn(status) { return [(path, self.offset(place, status))] }
        var files: [(String, Int)] = []
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
        if let stream = opendir(directory) {
            defer { closedir(stream) }
            var rest = Self.mostFiles
            while rest > 0, let entry = readdir(stream) {
                rest -= 1
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                guard stat(directory + name, &status) == 0, place.isIn(status) else { continue }
                files.append((directory + name, self.offset(place, status)))
                break
            }
        }
        if isThere { files.append((path, 0)) }
        return files
    }

    /// Returns the offset at which the new lines begin. A file that is shorter than before was copied and emptied, so
    /// all its lines are new.
    private static func offset(_ place: ListPlace, _ status: stat) -> Int {
        UInt64(status.st_size) < place.offset ? 0 : Int(place.offset)
    }
}

extension ListPlace {
    fileprivate func isIn(_ status: stat) -> Bool {
        self.device == UInt64(status.st_dev) && self.inode == UInt64(status.st_ino)
            && status.st_mode & S_IFMT == S_IFREG
    }
}
