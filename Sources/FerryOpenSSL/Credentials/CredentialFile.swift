internal import FerryCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

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
        throw TLSError(.fileNotFound, FileName(path).sentence("does not exist", option: option))
    }
    guard !isDirectory, let bytes = firstBytes(ofFile: path, atMost: credentialSizeLimit + 1) else {
        let predicate = "cannot be read; check that it is a file, and its permissions"
        throw TLSError(.fileUnreadable, FileName(path).sentence(predicate, option: option))
    }
    guard bytes.count <= credentialSizeLimit else {
        let predicate = "has more than \(credentialSizeLimit >> 20) MiB, so it is no file of certificates or keys"
        throw TLSError(.fileUnreadable, FileName(path).sentence(predicate, option: option))
    }
    return bytes
}

/// Returns the name of a file for errors.
func sourceName(_ path: String) -> String { FileName(path).shown ?? "the file" }

/// Reads a file to its end, or `limit` bytes of it. Without a limit, `/dev/zero` would fill the memory.
private func firstBytes(ofFile path: String, atMost limit: Int) -> [UInt8]? {
    guard let file = fopen(path, "rb") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count < limit {
        let count = fread(&chunk, 1, min(chunk.count, limit - bytes.count), file)
        guard count > 0 else { return ferror(file) == 0 ? bytes : nil }
        bytes += chunk[..<count]
    }
    return bytes
}
