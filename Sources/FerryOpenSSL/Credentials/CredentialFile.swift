#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Reads a small file of certificates or keys.
///
/// - Throws: ``TLSError/Code/fileNotFound`` or ``TLSError/Code/fileUnreadable``, both naming the path.
package func credentialBytes(atPath path: String) throws(TLSError) -> [UInt8] {
    let files = FileManager.default
    var isDirectory = false
    guard files.fileExists(atPath: path, isDirectory: &isDirectory) else {
        throw TLSError(.fileNotFound, "The file \(path) does not exist.")
    }
    guard !isDirectory, let data = try? Data(contentsOf: URL(filePath: path)) else {
        throw TLSError(
            .fileUnreadable,
            "The file \(path) cannot be read; check that it is a file, and its permissions."
        )
    }
    return [UInt8](data)
}
