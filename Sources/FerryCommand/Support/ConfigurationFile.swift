internal import FerryTerminal

/// The file with the configuration of a gateway or a worker.
enum ConfigurationFile {
    /// The longest configuration in bytes.
    static let longest = 1 << 20

    /// The bytes of the file.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when the file cannot be read, or is too long.
    static func contents(of path: String) throws(CommandFailure) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.contents(of: path, limit: self.longest)
        } catch {
            throw .usage("The configuration \(path) cannot be read: \(FileFailure(reason: error.reason))")
        }
        guard bytes.count <= self.longest else {
            throw .usage("\(path) has more than 1 MiB, too much for a configuration.")
        }
        return bytes
    }
}
