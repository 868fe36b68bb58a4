#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Which file a name or a descriptor stands for, whatever links lead there. Only regular files and FIFOs have one: two
/// may use the same terminal or `/dev/null` and do no harm.
struct FileIdentity: Equatable {
    private var device: UInt64
    private var inode: UInt64
    /// Whether the file is a regular one.
    var isRegular: Bool

    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init?(_ status: stat) {
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFIFO else { return nil }
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.isRegular = kind == S_IFREG
    }
}
