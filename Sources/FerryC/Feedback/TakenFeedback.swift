internal import CFerry
internal import FerryBinary
internal import FerryCore
internal import FerryOptions
internal import FerryPlatform

/// The devices that were taken from a ``FeedbackFile``. One thread at a time may use it.
///
/// Taking the list renames the file to `PATH.taken.PID.NUMBER`. The file is removed after it was read to its end. A
/// process that dies earlier leaves the file behind, and its lock on the file ends. So the next process that takes
/// the list can lock this file, and reads it first.
struct TakenFeedback: ~Copyable {
    private struct File {
        var path: String
        var descriptor: Int32
    }

    private static let chunk = 1 << 16
    /// If more bytes than this number have no line feed, these bytes are skipped. The lines that Ferry writes are
    /// shorter.
    private static let lineLimit = 512
    /// The number of names that are tried before taking the list fails.
    private static let tries = 1000

    private var files: [File] = []
    /// The index of the file that is being read.
    private var current = 0
    private var bytes: [UInt8] = []
    private var position = 0
    /// The number of lines that could not be parsed, and of parts without a line feed that were too long.
    private(set) var skipped = 0
    /// Whether the system failed to read a file.
    private(set) var isUnreadable = false

    /// Takes the list. If the file does not exist, the list has only the files that other processes have left behind.
    ///
    /// - Throws: ``OptionFault`` when the file cannot be renamed, or is not a regular file.
    init(path: String) throws(OptionFault) {
        let path = try FeedbackFile.resolved(path)
        for orphan in Self.orphans(of: path) {
            if let file = Self.lock(orphan) { self.files.append(file) }
        }
        for number in 1...Self.tries {
            let name = "\(path).taken.\(getpid()).\(number)"
            // The name must be new. An ordinary rename would replace the list that another reader has taken.
            guard cferry_rename_new(path, name) == 0 else {
                if errno == EEXIST { continue }
                guard errno != ENOENT else { return }
                let predicate = "cannot be taken: \(String(cString: strerror(errno)))"
                throw OptionFault(FileName(path).sentence(predicate, option: "feedback"))
            }
            if let file = Self.lock(name) { self.files.append(file) }
            return
        }
        throw OptionFault(
            FileName(path).sentence("cannot be taken: \(Self.tries) earlier lists stand beside it", option: "feedback")
        )
    }

    deinit { for file in self.files { Self.release(file) } }

    private static func release(_ file: File) {
        LibraryState.shared.withLock { $0.closeTakenList(file.descriptor) }
    }

    private static func orphans(of path: String) -> [String] {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? "./"
        let prefix = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard let entries = opendir(folder) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix("\(prefix).taken.") { names.append(folder + name) }
        }
        return names.sorted()
    }

    /// Opens a file and locks it. Returns nil if another reader has locked the file, or if the file is gone or cannot
    /// be opened.
    private static func lock(_ path: String) -> File? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return nil }
        var own = stat()
        var current = stat()
        // Another reader may have removed the file after we opened it, and a new file may have its name. So the path
        // must still lead to the open file.
        guard flock(file, LOCK_EX | LOCK_NB) == 0, fstat(file, &own) == 0, stat(path, &current) == 0,
            own.st_ino == current.st_ino
        else {
            close(file)
            return nil
        }
        LibraryState.shared.withLock { $0.noteTakenList(file) }
        return File(path: path, descriptor: file)
    }

    /// Returns the next device; nil at the end of the list, or if a file cannot be read.
    mutating func next() -> FeedbackTuple? {
        while self.current < self.files.count, !self.isUnreadable {
            while let line = self.nextLine() {
                if let tuple = Self.tuple(in: line) { return tuple }
                self.skipped += 1
            }
            if !self.isUnreadable { self.current += 1 }
        }
        return nil
    }

    /// Removes the files that were read. If the process dies before this call, the next reader finds the list again.
    mutating func remove() {
        for file in self.files.prefix(self.current) {
            unlink(file.path)
            Self.release(file)
        }
        self.files.removeFirst(self.current)
        self.current = 0
    }

    private mutating func nextLine() -> ArraySlice<UInt8>? {
        while true {
            if let end = self.bytes[self.position...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = self.bytes[self.position..<end]
                self.position = end + 1
                if line.isEmpty { continue }
                return line
            }
            self.bytes.removeFirst(self.position)
            self.position = 0
            if self.bytes.count > Self.lineLimit {
                self.bytes.removeAll()
                self.skipped += 1
            }
            var chunk = [UInt8](repeating: 0, count: Self.chunk)
            let count = read(self.files[self.current].descriptor, &chunk, chunk.count)
            if count < 0 {
                self.isUnreadable = true
                self.bytes.removeAll()
                return nil
            }
            guard count > 0 else {
                // The last line may have no line feed.
                guard !self.bytes.isEmpty else { return nil }
                defer { self.bytes.removeAll() }
                return self.bytes[...]
            }
            self.bytes += chunk[..<count]
        }
    }

    /// Parses a line. If a full disk cut off an earlier line, no line feed separates the earlier line from this one.
    /// So the last object in the line counts.
    private static func tuple(in line: ArraySlice<UInt8>) -> FeedbackTuple? {
        guard let start = line.lastIndex(of: UInt8(ascii: "{")), let object = JSONObject(Array(line[start...])),
            let token = object.string("token").flatMap({ try? DeviceToken(hex: $0) }),
            let seconds = object.integer("timestamp").flatMap({ UInt32(exactly: $0) })
        else { return nil }
        return FeedbackTuple(time: Date(timeIntervalSince1970: Double(seconds)), token: token)
    }
}
