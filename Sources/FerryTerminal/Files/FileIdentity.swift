internal import FerryPlatform

/// The identity of the file behind a name or a descriptor, independent of links. Only regular files and FIFOs have an
/// identity, because it does no harm to use the same terminal or `/dev/null` twice.
package struct FileIdentity: Equatable {
    private var device: UInt64
    private var inode: UInt64
    package var isRegular: Bool

    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    package init?(descriptor: Int32) {
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
