internal import FerryPlatform
internal import FerryTerminal

/// A file that the gateway makes and writes.
enum GatewayOutput {
    /// Checks that the file could be written, without making it.
    ///
    /// - Parameter member: the member of the configuration that names it, quoted.
    /// - Throws: ``CommandFailure`` when the file could not be written.
    static func check(_ member: String, _ path: String) throws(CommandFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw self.failure(member, path, errno) }
            let directory = URL(filePath: path).deletingLastPathComponent().path
            guard access(directory, W_OK | X_OK) == 0 else { throw self.failure(member, path, errno) }
            return
        }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw self.failure(member, path, EISDIR) }
        // The file is not opened, because the reader of a FIFO would then see that its writer has gone.
        guard access(path, W_OK) == 0 else { throw self.failure(member, path, errno) }
    }

    static func failure(_ member: String, _ path: String, _ code: Int32) -> CommandFailure {
        .usage("\(member): \(path) cannot be written: \(String(cString: strerror(code)))")
    }
}
