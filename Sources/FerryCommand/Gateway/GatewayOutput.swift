internal import FerryPlatform
internal import FerryTerminal

/// A file that the gateway makes and writes.
enum GatewayOutput {
    /// Finds out whether the file could be written, and makes none.
    ///
    /// - Parameter member: the member of the configuration that names it, quoted.
    /// - Throws: ``CommandFailure`` when it could not.
    static func check(_ member: String, _ path: String) throws(CommandFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw self.failure(member, path, errno) }
            let directory = URL(filePath: path).deletingLastPathComponent().path
            guard access(directory, W_OK | X_OK) == 0 else { throw self.failure(member, path, errno) }
            return
        }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw self.failure(member, path, EISDIR) }
        // Opening it would tell the reader of a FIFO that its writer has gone.
        guard access(path, W_OK) == 0 else { throw self.failure(member, path, errno) }
    }

    static func failure(_ member: String, _ path: String, _ code: Int32) -> CommandFailure {
        .usage("\(member): \(path) cannot be written: \(String(cString: strerror(code)))")
    }
}
