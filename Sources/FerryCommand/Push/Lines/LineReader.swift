internal import FerryCore
internal import FerryPlatform
internal import FerryTerminal
internal import NIOPosix

/// Reads a file line by line, in large pieces, on a thread that may block. `-` is standard input.
///
/// Unchecked, because only one task reads, and it waits while ``fill()`` changes the memory on another thread. Only
/// ``interrupt()`` may be called from any thread.
final class LineReader: @unchecked Sendable {
    /// The bytes of one read.
    static let piece = 256 << 10
    /// The limit for lines of notifications, in bytes. It is far above any good line.
    static let lineLimit = 1 << 20

    enum Line {
        /// The bytes without the line break. Valid until the next ``fill()``.
        case bytes(UnsafeBufferPointer<UInt8>)
        case tooLong
    }

    /// The file's name in messages.
    let name: String
    private let file: FileDescriptor
    /// A pipe. A byte written to its second end wakes the wait for input.
    private let wake: (FileDescriptor, FileDescriptor)
    private let memory: UnsafeMutablePointer<UInt8>
    /// The length in bytes above which a line is too long, if its line break was not read yet.
    let limit: Int
    /// The bytes of the input before those in memory.
    private var base = 0
    private var start = 0
    private var end = 0
    /// The number of bytes after `start` that contain no line break.
    private var searched = 0
    /// Whether no line was returned yet.
    private var isAtBeginning = true
    /// Whether the rest of a long line is being dropped.
    private var isSkipping = false
    private var isAtEnd = false
    /// Whether ``interrupt()`` ended the input.
    private(set) var wasInterrupted = false

    /// The identity of the file.
    var identity: FileIdentity? { FileIdentity(descriptor: self.file.rawValue) }

    /// The length of the input in bytes. Nil if it is no regular file.
    var length: Int? { self.file.length }

    /// The bytes of the input up to the end of the last line that was returned.
    var position: Int { self.base + self.start }

    /// - Parameter limit: the length in bytes above which a line without its line break is reported as too long, and
    ///   dropped. Memory holds one ``piece`` more at most.
    init(path: String, limit: Int = LineReader.lineLimit) throws(FileFailure) {
        self.limit = limit
        self.file = path == "-" ? FileDescriptor(STDIN_FILENO, isOwned: false) : try .reading(path)
        self.name = path == "-" ? "standard input" : FileName(path).shown ?? "the input"
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw FileFailure(code: errno) }
        self.wake = (FileDescriptor(ends[0], isOwned: true), FileDescriptor(ends[1], isOwned: true))
        self.memory = .allocate(capacity: limit + Self.piece)
    }

    deinit {
        self.memory.deallocate()
    }

    /// Ends the input at this point. Any thread, also while ``fill()`` waits.
    func interrupt() {
        let byte: UInt8 = 0
        withUnsafeBytes(of: byte) { try? self.wake.1.writeAll($0) }
    }

    /// Returns the next line in memory, without a byte order mark before the first (RFC 8259 section 8.1). Nil if there
    /// is no more: then call ``fill()``.
    func next() -> Line? {
        guard let line = self.take() else { return nil }
        guard self.isAtBeginning else { return line }
        self.isAtBeginning = false
        guard case .bytes(let bytes) = line, bytes.starts(with: FileStart.byteOrderMark) else { return line }
        return .bytes(UnsafeBufferPointer(rebasing: bytes.dropFirst(FileStart.byteOrderMark.count)))
    }

    private func take() -> Line? {
        while true {
            let from = self.memory + self.start + self.searched
            if let found = memchr(from, Int32(UInt8(ascii: "\n")), self.end - self.start - self.searched) {
                let line = UnsafeBufferPointer(
                    start: self.memory + self.start,
                    count: UnsafePointer(found.assumingMemoryBound(to: UInt8.self)) - UnsafePointer(self.memory)
                        - self.start
                )
                self.start += line.count + 1
                self.searched = 0
                if self.isSkipping {
                    self.isSkipping = false
                    continue
                }
                return .bytes(line)
            }
            return self.rest()
        }
    }

    /// Returns the bytes after the last line break as a line, if the input has ended. If they are too long, drops
    /// them, and returns ``Line/tooLong`` once.
    private func rest() -> Line? {
        let line = UnsafeBufferPointer(start: self.memory + self.start, count: self.end - self.start)
        self.searched = line.count
        if self.isSkipping || line.count > self.limit {
            defer { self.isSkipping = true }
            self.base += self.end
            (self.start, self.end, self.searched) = (0, 0, 0)
            return self.isSkipping ? nil : .tooLong
        }
        guard self.isAtEnd, !line.isEmpty else { return nil }
        (self.start, self.searched) = (self.end, 0)
        return .bytes(line)
    }

    /// Reads more input. Returns false if an earlier call has met the end. Take all lines in memory before the call.
    ///
    /// The call that meets the end returns true, because ``next()`` may then return one more line, without a line
    /// break.
    func fill() async throws -> Bool {
        guard !self.isAtEnd else { return false }
        self.base += self.start
        self.memory.update(from: self.memory + self.start, count: self.end - self.start)
        (self.start, self.end) = (0, self.end - self.start)
        let count = try await NIOThreadPool.singleton.runIfActive { try self.read() }
        self.end += count
        self.isAtEnd = count == 0
        return true
    }

    /// Waits for input or ``interrupt()``, then reads.
    private func read() throws(FileFailure) -> Int {
        while true {
            var waits = [
                pollfd(fd: self.file.rawValue, events: Int16(POLLIN), revents: 0),
                pollfd(fd: self.wake.0.rawValue, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waits, 2, -1) < 0 {
                guard errno == EINTR else { throw FileFailure(self.name, code: errno) }
                continue
            }
            if waits[1].revents != 0 {
                self.wasInterrupted = true
                return 0
            }
            let count = FerryPlatform.read(self.file.rawValue, self.memory + self.end, Self.piece)
            if count >= 0 { return count }
            if errno != EINTR && errno != EAGAIN { throw FileFailure(self.name, code: errno) }
        }
    }
}
