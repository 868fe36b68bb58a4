#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// An open file. Closed when the last reference goes.
final class FileDescriptor: Sendable {
    let rawValue: Int32
    private let isOwned: Bool

    /// - Parameter isOwned: false leaves closing to someone else, as standard input's.
    init(_ rawValue: Int32, isOwned: Bool) {
        self.rawValue = rawValue
        self.isOwned = isOwned
    }

    deinit {
        if self.isOwned { close(self.rawValue) }
    }

    /// Opens a file for reading.
    static func reading(_ path: String) throws(FileFailure) -> FileDescriptor {
        try self.open(path, O_RDONLY)
    }

    /// Opens a file for writing, and empties it if it is there.
    static func writing(_ path: String) throws(FileFailure) -> FileDescriptor {
        try self.open(path, O_WRONLY | O_CREAT | O_TRUNC)
    }

    private static func open(_ path: String, _ flags: Int32) throws(FileFailure) -> FileDescriptor {
        #if canImport(Glibc)
        let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o644)
        #elseif canImport(Musl)
        let descriptor = Musl.open(path, flags | O_CLOEXEC, 0o644)
        #else
        let descriptor = Darwin.open(path, flags | O_CLOEXEC, 0o644)
        #endif
        guard descriptor >= 0 else { throw FileFailure(path: path, code: errno) }
        return FileDescriptor(descriptor, isOwned: true)
    }

    /// Writes all of `bytes`. Blocks.
    func writeAll(_ bytes: UnsafeRawBufferPointer) throws(FileFailure) {
        try Self.writeAll(bytes, to: self.rawValue)
    }

    static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(FileFailure) {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno != EINTR {
                throw FileFailure(path: "", code: errno)
            }
        }
    }
}

/// A file that cannot be opened, read or written.
struct FileFailure: Error, Equatable, CustomStringConvertible {
    var path: String
    /// The system's error number.
    var code: Int32

    var description: String {
        let reason = String(cString: strerror(self.code))
        return self.path.isEmpty ? reason : "\(self.path): \(reason)"
    }
}
