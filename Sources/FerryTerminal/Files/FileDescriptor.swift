package import FerryCore
internal import FerryPlatform

/// An open file. If the object owns the descriptor, the file closes when the last reference is dropped.
package final class FileDescriptor: Sendable {
    package let rawValue: Int32
    private let isOwned: Bool

    /// - Parameter isOwned: false if other code closes the descriptor, as for standard input.
    package init(_ rawValue: Int32, isOwned: Bool) {
        self.rawValue = rawValue
        self.isOwned = isOwned
    }

    deinit {
        if self.isOwned { close(self.rawValue) }
    }

    /// The length in bytes; nil if it is not a regular file.
    package var length: Int? {
        var status = stat()
        guard fstat(self.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    package static func reading(_ path: String) throws(FileFailure) -> FileDescriptor {
        try self.open(path, O_RDONLY)
    }

    /// Opens a file for writing. Empties an existing file. Does not wait for the reader of a FIFO.
    ///
    /// Only the owner may access a new file, because Ferry's output contains device tokens.
    package static func writing(_ path: String) throws(FileFailure) -> FileDescriptor {
        try self.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK)
    }

    /// Standard output. A pipe is opened again without blocking, so that ``writeAll(_:unless:)`` can give up. For other
    /// programs the pipe stays as it is.
    package static var standardOutput: FileDescriptor {
        let isPipe = FileIdentity(descriptor: STDOUT_FILENO)?.isRegular == false
        let pipe = isPipe ? try? self.open("/dev/fd/\(STDOUT_FILENO)", O_WRONLY | O_NONBLOCK) : nil
        return pipe ?? FileDescriptor(STDOUT_FILENO, isOwned: false)
    }

    private static func open(_ path: String, _ flags: Int32) throws(FileFailure) -> FileDescriptor {
        let descriptor = FerryPlatform.open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFailure(FileName(path), code: errno) }
        return FileDescriptor(descriptor, isOwned: true)
    }

    /// Reads a file, and takes away its byte order mark.
    ///
    /// - Returns: the whole file, or more than `limit` bytes of a longer one.
    package static func contents(of path: String, limit: Int) throws(FileFailure) -> [UInt8] {
        let file = try Self.reading(path)
        let limit = FileStart.reach(limit)
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < limit {
            let count = read(file.rawValue, &piece, min(piece.count, limit - bytes.count))
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw FileFailure(FileName(path), code: errno) }
            if count == 0 { break }
            bytes += piece[..<count]
        }
        return bytes.withoutByteOrderMark
    }

    /// Writes all of `bytes`. Blocks until the reader of a pipe takes them. Throws ``FileFailure`` with the reason
    /// ``FileFailure/Reason/unread`` if `isGivenUp` returns true.
    ///
    /// - Parameter isGivenUp: is called repeatedly while nothing can be written, with the time at which that began.
    package func writeAll(
        _ bytes: UnsafeRawBufferPointer,
        unless isGivenUp: (_ since: ContinuousClock.Instant) -> Bool = { _ in false }
    ) throws(FileFailure) {
        var rest = bytes
        var stalled: ContinuousClock.Instant?
        while !rest.isEmpty {
            let count = FerryPlatform.write(self.rawValue, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                stalled = nil
            } else if errno == EAGAIN {
                let since = stalled ?? .now
                stalled = since
                if isGivenUp(since) { throw FileFailure(reason: .unread) }
                var wait = pollfd(fd: self.rawValue, events: Int16(POLLOUT), revents: 0)
                poll(&wait, 1, Self.pollMilliseconds)
            } else if errno != EINTR {
                throw FileFailure(code: errno)
            }
        }
    }

    /// Writes all of a text. Blocks until the reader of a pipe takes it.
    package func write(_ text: String) throws(FileFailure) {
        // `withUnsafeBytes` would forget the type of the error.
        let result = Array(text.utf8).withUnsafeBytes { bytes in
            Result { () throws(FileFailure) in try self.writeAll(bytes) }
        }
        try result.get()
    }

    /// The interval at which a wait for a pipe checks whether to continue.
    private static let pollMilliseconds: Int32 = 50
}

/// The failure to open, read or write a file.
package struct FileFailure: Error, Equatable, CustomStringConvertible {
    package enum Reason: Equatable {
        /// The system's error number.
        case system(Int32)
        /// The file is a FIFO without a reader, or the reader of a pipe or FIFO takes nothing.
        case unread
    }

    /// The file's name in messages. It is nil if the file has no name, or if the name may be a secret.
    package var name: String?
    package var reason: Reason

    package init(_ name: String? = nil, reason: Reason) {
        self.name = name
        self.reason = reason
    }

    package init(_ name: String? = nil, code: Int32) {
        // The system's message for a FIFO without a reader would be "No such device or address".
        self.init(name, reason: code == ENXIO ? .unread : .system(code))
    }

    package init(_ file: FileName, code: Int32) {
        self.init(file.shown, code: code)
    }

    package var isMissing: Bool {
        [ENOENT, ENOTDIR, ENAMETOOLONG].contains { self.reason == .system($0) }
    }

    package var description: String {
        let reason =
            switch self.reason {
            case .system(let code): String(cString: strerror(code))
            case .unread: "nobody reads it"
            }
        return self.name.map { "\($0): \(reason)" } ?? reason
    }
}
