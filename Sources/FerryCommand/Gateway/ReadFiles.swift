internal import FerryPlatform
internal import FerryTerminal

/// The files that a configuration was made of, and whether they have changed since.
struct ReadFiles: Sendable {
    /// The state of a file at one time. It differs for another file at the path, and after a change of the content.
    private struct Stamp: Hashable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            self.device = UInt64(status.st_dev)
            self.inode = UInt64(status.st_ino)
            self.size = Int64(status.st_size)
            let time = SystemCalls.changed(status)
            self.seconds = Int(time.tv_sec)
            self.nanoseconds = Int(time.tv_nsec)
        }
    }

    private var stamps: [String: Stamp?] = [:]

    /// Notes a file before it is read. So a change while it is read is seen, too.
    mutating func note(_ path: String) {
        // A pipe has no content that could be compared.
        guard self.stamps[path] == nil, FileIdentity(path: path)?.isRegular == true else { return }
        self.stamps[path] = .some(Stamp(path))
    }

    /// Adds the files of `other`. For a path in both, the stamp of `other` counts.
    mutating func add(_ other: ReadFiles) { self.stamps.merge(other.stamps) { $1 } }

    /// The names of the files that have changed since they were noted, without their directories. A missing file
    /// counts.
    var changed: [String] {
        self.stamps.filter { $0.value != Stamp($0.key) }.keys.sorted().map { URL(filePath: $0).lastPathComponent }
    }
}

/// Notes files while a configuration is read.
final class ReadFilesNote {
    private(set) var files = ReadFiles()

    func note(_ path: String) { self.files.note(path) }
}
