internal import FerryBinary
internal import FerryCore
internal import FerryOptions
internal import FerryPlatform
internal import Synchronization

/// The file of the option `feedback`. It has one line for each time that APNs reported a device as gone.
///
/// ```
/// {"token":"00fc…","timestamp":1585656000}
/// ```
///
/// Several processes can append lines and take the list at the same time. They never wait for each other. An append is
/// one write at the end of the file. A process that takes the list renames the file first. If an appender finds after
/// its write that the file was renamed, it writes the line again, to the new file. So each device is in at least one of
/// the two files.
final class FeedbackFile: Sendable {
    /// The number of attempts to append a line while other processes keep taking the file.
    private static let tries = 8

    private let path: [CChar]
    private let lost = Atomic<Int>(0)

    /// - Throws: ``OptionFault`` when the file cannot be written, or is not a regular file.
    init(path: String) throws(OptionFault) {
        guard let file = Self.opened(Array(try Self.resolved(path).utf8CString)) else {
            let predicate = "cannot be written: \(String(cString: strerror(errno)))"
            throw OptionFault(FileName(path).sentence(predicate, option: "feedback"))
        }
        close(file)
        // The path is resolved a second time, now that the file exists. Only then is it independent of the current
        // directory.
        self.path = Array(try Self.resolved(path).utf8CString)
    }

    /// Returns the path without symbolic links, because taking the list renames the file itself. If the file does not
    /// exist, returns `path` unchanged.
    ///
    /// - Throws: ``OptionFault`` when the path leads to something other than a regular file.
    static func resolved(_ path: String) throws(OptionFault) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        var status = stat()
        guard stat(real, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw OptionFault(FileName(path).sentence("is no regular file", option: "feedback"))
        }
        return String(cString: real)
    }

    /// The number of devices that could not be written, for example because the disk was full.
    var lostCount: Int { self.lost.load(ordering: .relaxed) }

    static func line(_ device: DeviceToken, goneSince date: Date?) -> [UInt8] {
        let seconds = UInt32(clamping: Int64((date ?? .now).timeIntervalSince1970))
        return Array("{\"token\":\"\(device.hex)\",\"timestamp\":\(seconds)}\n".utf8)
    }

    /// Appends a line, and waits for the disk. A fork may happen during the wait. So this code makes system calls only,
    /// and uses nothing that takes a lock of the Swift runtime.
    func append(_ line: [UInt8]) {
        for _ in 0..<Self.tries {
            switch self.put(line) {
            case .written: return
            case .taken: continue
            case .failed: return self.noteLost()
            }
        }
        self.noteLost()
    }

    private func noteLost() { self.lost.wrappingAdd(1, ordering: .relaxed) }

    private enum Writing { case written, taken, failed }

    private func put(_ line: [UInt8]) -> Writing {
        guard let file = Self.opened(self.path) else { return .failed }
        defer { close(file) }
        guard write(file, line, line.count) == line.count else { return .failed }
        var own = stat()
        var current = stat()
        guard fstat(file, &own) == 0 else { return .failed }
        // If the path still leads to our file, each process that renames the file from now on reads this line.
        let isCurrent = stat(self.path, &current) == 0 && current.st_ino == own.st_ino && current.st_dev == own.st_dev
        return isCurrent ? .written : .taken
    }

    private static func opened(_ path: [CChar]) -> Int32? {
        let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        return file >= 0 ? file : nil
    }
}
