internal import CFerry
internal import FerryBinary
internal import FerryCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The devices in a ``FeedbackFile``, taken from it. One thread at a time.
///
/// Taking renames the file to `PATH.taken.PID.NUMBER`, and reading it to its end removes that. A process that died in between
/// left such a file. It is locked while its owner lives, so the next one who takes the list finds out, and reads it first.
struct TakenFeedback: ~Copyable {
    private struct File {
        var path: String
        var descriptor: Int32
    }

    private static let chunk = 1 << 16
    /// A longer line is none of ours.
    private static let lineLimit = 512
    /// How often a name that another thread just used is replaced by the next.
    private static let tries = 1000

    private var files: [File] = []
    /// The index of the file that is read.
    private var current = 0
    private var bytes: [UInt8] = []
    private var position = 0
    /// How many lines were not understood.
    private(set) var skipped = 0
    /// Whether the system could not read a file.
    private(set) var isUnreadable = false

    /// Takes the list. An absent file is an empty list.
    ///
    /// - Throws: ``OptionsFault`` when the file cannot be renamed.
    init(path: String) throws(OptionsFault) {
        let path = try FeedbackFile.resolved(path)
        for orphan in Self.orphans(of: path) {
            if let file = Self.lock(orphan) { self.files.append(file) }
        }
        for number in 1...Self.tries {
            let name = "\(path).taken.\(getpid()).\(number)"
            // The name must be new: a rename would replace the list of another reader.
            guard cferry_rename_new(path, name) == 0 else {
                if errno == EEXIST { continue }
                guard errno != ENOENT else { return }
                let predicate = "cannot be taken: \(String(cString: strerror(errno)))"
                throw OptionsFault(FileName(path).sentence(predicate, option: "feedback"))
            }
            if let file = Self.lock(name) { self.files.append(file) }
            return
        }
        throw OptionsFault(
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

    /// Opens a file and locks it; nil if another reader has it, or if it is gone.
    private static func lock(_ path: String) -> File? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return nil }
        var own = stat()
        var current = stat()
        // Its reader may have removed it, and the name may be another file's by now.
        guard flock(file, LOCK_EX | LOCK_NB) == 0, fstat(file, &own) == 0, stat(path, &current) == 0,
            own.st_ino == current.st_ino
        else {
            close(file)
            return nil
        }
        LibraryState.shared.withLock { $0.noteTakenList(file) }
        return File(path: path, descriptor: file)
    }

    /// Returns the next device; nil at the end of the list.
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

    /// Removes what was read. Until then, another reader finds the list if this one dies.
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
                // The last line may lack its end.
                guard !self.bytes.isEmpty else { return nil }
                defer { self.bytes.removeAll() }
                return self.bytes[...]
            }
            self.bytes += chunk[..<count]
        }
    }

    /// Reads a line. A full disk may have cut the line before, and then both are one.
    private static func tuple(in line: ArraySlice<UInt8>) -> FeedbackTuple? {
        guard let start = line.lastIndex(of: UInt8(ascii: "{")) else { return nil }
        return line[start...].withUnsafeBufferPointer { bytes in
            guard var options = try? OptionsObject(bytes), let hex = try? options.string("token"),
                let seconds = try? options.integer("timestamp", in: 0...Int(UInt32.max)),
                let token = try? DeviceToken(hex: hex)
            else { return nil }
            return FeedbackTuple(time: Date(timeIntervalSince1970: Double(seconds)), token: token)
        }
    }
}
