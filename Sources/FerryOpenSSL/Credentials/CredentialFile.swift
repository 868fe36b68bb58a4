internal import FerryCore
internal import FerryPlatform

/// The size of the largest file that is read. A bundle of all public authorities has a quarter of a MiB.
private let credentialSizeLimit = 16 << 20

/// Reads a small file of certificates or keys, or a pipe with one, to its end.
///
/// - Parameter option: the option that named the file, such as `--key`, for an error that may not show the name.
/// - Throws: ``TLSError/Code/fileNotFound`` or ``TLSError/Code/fileUnreadable``. Both name the file, unless its name
///   may be the secret itself: see `FileName`.
package func credentialBytes(atPath path: String, option: String? = nil) throws(TLSError) -> [UInt8] {
    let files = FileManager.default
    var isDirectory = false
    guard files.fileExists(atPath: path, isDirectory: &isDirectory) else {
        guard !isOutOfReach(path) else {
            let predicate = "cannot be reached: this user may not enter a directory above it"
            throw TLSError(.fileUnreadable, FileName(path).sentence(predicate, option: option))
        }
        throw TLSError(.fileNotFound, FileName(path).sentence("does not exist", option: option))
    }
    guard !isDirectory, let bytes = try? FileStart.read(path, limit: credentialSizeLimit) else {
        let predicate = "cannot be read; check that it is a file, and its permissions"
        throw TLSError(.fileUnreadable, FileName(path).sentence(predicate, option: option))
    }
    guard bytes.count <= credentialSizeLimit else {
        let predicate = "has more than \(credentialSizeLimit >> 20) MiB, so it is no file of certificates or keys"
        throw TLSError(.fileUnreadable, FileName(path).sentence(predicate, option: option))
    }
    return bytes
}

/// Whether the user may not enter a directory of the path, so that nothing shows whether the file exists.
private func isOutOfReach(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 && errno == EACCES
}

/// Returns the name of a file for errors.
func sourceName(_ path: String) -> String { FileName(path).shown ?? "the file" }
