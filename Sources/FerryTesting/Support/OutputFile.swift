internal import FerryCore
internal import FerryPlatform

/// An open file, closed at the end of its lifetime. Only its owner may read a new file, because it holds device tokens
/// and payloads.
struct OutputFile: ~Copyable {
    private let path: String
    private let descriptor: Int32

    init(path: String) throws(FileError) {
        self.path = path
        // Without `O_NONBLOCK`, opening a FIFO that has no reader would never return.
        self.descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o600)
        if self.descriptor < 0 { throw .init(path: path, code: errno) }
        let flags = fcntl(self.descriptor, F_GETFL)
        guard flags >= 0, fcntl(self.descriptor, F_SETFL, flags & ~O_NONBLOCK) >= 0 else {
            throw .init(path: path, code: errno)
        }
    }

    deinit {
        if self.descriptor >= 0 { close(self.descriptor) }
    }

    func write(_ bytes: [UInt8]) throws(FileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { buffer in
                FerryPlatform.write(self.descriptor, buffer.baseAddress, buffer.count)
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw .init(path: self.path, code: errno)
            }
        }
    }
}

/// A file that cannot be opened or written.
public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The path of the file.
    public var path: String
    /// The system's error number.
    public var code: Int32

    /// The path and the system's message.
    ///
    /// The path is omitted if it may be something else, such as a secret in the wrong argument.
    public var description: String {
        let reason = String(cString: strerror(self.code))
        return FileName(self.path).shown.map { "\($0): \(reason)" } ?? reason
    }
}
