internal import FerryCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Reads a small file of certificates or keys.
///
/// - Parameter option: where the file was named, such as `--key`, for an error that may not show its name.
/// - Throws: ``TLSError/Code/fileNotFound`` or ``TLSError/Code/fileUnreadable``. Both name the file, unless its name may be
///   the secret itself: see `FileName`.
package func credentialBytes(atPath path: String, option: String? = nil) throws(TLSError) -> [UInt8] {
    let files = FileManager.default
    var isDirectory = false
    guard files.fileExists(atPath: path, isDirectory: &isDirectory) else {
        throw TLSError(.fileNotFound, FileName(path).sentence("does not exist", option: option))
    }
    guard !isDirectory, let data = try? Data(contentsOf: URL(filePath: path)) else {
        let predicate = "cannot be read; check that it is a file, and its permissions"
        throw TLSError(.fileUnreadable, FileName(path).sentence(predicate, option: option))
    }
    return [UInt8](data)
}

/// What errors call a file that was read.
func sourceName(_ path: String) -> String { FileName(path).shown ?? "the file" }
