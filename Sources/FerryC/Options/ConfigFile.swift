internal import FerryCore
internal import FerryOptions
internal import FerryPlatform

/// The file of the option `config`: one JSON object of options. They win over those of the program: see
/// ``OptionObject/replaced(by:)`` for the exceptions.
struct ConfigFile: Sendable {
    private static let sizeLimit = 1 << 20

    /// The state of a file. It changes whenever the file is written or replaced.
    private struct Stamp: Equatable {
        private var device: UInt64
        private var inode: UInt64
        private var size: Int64
        private var seconds: Int
        private var nanoseconds: Int

        init(_ status: stat) {
            self.device = UInt64(status.st_dev)
            self.inode = UInt64(status.st_ino)
            self.size = Int64(status.st_size)
            self.seconds = Int(status.st_mtim.tv_sec)
            self.nanoseconds = Int(status.st_mtim.tv_nsec)
        }
    }

    /// The absolute path, because the current directory may change. Symbolic links stay in the path, because replacing
    /// a link replaces the file.
    let path: String
    let options: OptionObject
    private let stamp: Stamp

    /// - Throws: ``OptionFault`` when the file cannot be read, is not one JSON object, or is not a regular file of at
    ///   most 1 MiB.
    init(path: String) throws(OptionFault) {
        self.path = path.hasPrefix("/") ? path : "\(Self.currentDirectory)/\(path)"
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            throw OptionFault(
                FileName(path).sentence("cannot be read: \(String(cString: strerror(errno)))", option: "config")
            )
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int(status.st_size) <= Self.sizeLimit
        else {
            let predicate = "is no regular file of at most \(Self.sizeLimit >> 20) MiB"
            throw OptionFault(FileName(path).sentence(predicate, option: "config"))
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = bytes.isEmpty ? 0 : read(file, &bytes, bytes.count)
        self.options = try OptionObject(bytes.prefix(max(count, 0)), of: .c, file: FileName(self.path))
        self.stamp = Stamp(status)
    }

    private static var currentDirectory: String {
        guard let name = getcwd(nil, 0) else { return "." }
        defer { free(name) }
        return String(cString: name)
    }

    /// Whether the file was written or replaced since it was read; false if the file is gone.
    var hasChanged: Bool {
        var status = stat()
        return stat(self.path, &status) == 0 && Stamp(status) != self.stamp
    }
}
