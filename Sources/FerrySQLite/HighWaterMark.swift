internal import FerryPlatform

/// A small file beside a store, with the number of the last acknowledged commit and the number of the owner.
///
/// SQLite takes a damaged page for the end of the write-ahead log, and reports no error. Acknowledged commits behind
/// that page are lost. The number in a second file shows the loss.
///
/// A connection with SQLite's exclusive lock never checks whether another connection writes. On a file system without
/// locks, two processes would overwrite each other. So each owner writes a random number here, and reads it before and
/// after each commit. An acknowledged commit then ended before another process became the owner, and that process finds
/// the commit.
///
/// ```
///   0         8           16        24
///   ┌─────────┬───────────┬─────────┐
///   │ number  │ ~ number  │  owner  │   native byte order
///   └─────────┴───────────┴─────────┘
/// ```
///
/// Before ``take()``, the file ends after 16 bytes. If ``take()`` comes before the first commit, the file begins with
/// 16 zeros.
package final class HighWaterMark {
    private static let length = 16
    private static let ownerOffset: off_t = 16

    /// A fault of the mark, described in sentences for an operator.
    package struct Fault: Error, CustomStringConvertible {
        package let description: String

        init(_ description: String) { self.description = description }
    }

    /// The result of a check that found no fault.
    package enum Finding {
        /// The store has every commit that was acknowledged.
        case agrees
        /// There was no mark file, so the check made one.
        case isNew
    }

    /// The path of the mark of a store that exists. All names of the store that are symbolic links lead to one mark, so that
    /// processes that use different names see each other's.
    package static func path(of store: String) -> String { "\(SQLiteDatabase.realPath(of: store))-mark" }

    private let path: String
    private let descriptor: Int32
    /// The system's error when the file was opened; nil if the file is open.
    private let openError: Int32?
    /// The number that this owner writes.
    private let owner = UInt64.random(in: .min ... .max)

    package init(path: String) {
        self.path = path
        self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        self.openError = self.descriptor < 0 ? errno : nil
    }

    deinit { if self.openError == nil { close(self.descriptor) } }

    /// Compares the mark with the last commit that the store has.
    ///
    /// - Throws: ``Fault`` when the store has lost commits, or when the mark cannot be used.
    package func check(last: UInt64, of store: String) throws(Fault) -> Finding {
        var bytes = [UInt8](repeating: 0, count: Self.length)
        var finding = Finding.agrees
        switch pread(self.descriptor, &bytes, Self.length, 0) {
        case 0:
            finding = .isNew
        case Self.length where bytes == [UInt8](repeating: 0, count: Self.length):
            finding = .isNew
        case Self.length where Self.number(bytes[..<8]) == ~Self.number(bytes[8...]):
            let mark = Self.number(bytes[..<8])
            guard mark <= last else {
                throw Fault(
                    "The store \(store) has lost its last commits: it ends with \(last), and \(mark) was acknowledged. The "
                        + "disk may be damaged. If this file is a copy, put its own mark beside it. To go on with what is "
                        + "left, remove \(self.path)."
                )
            }
        case let count where count < 0:
            throw Fault("The store's mark \(self.path) cannot be read: \(self.reason).")
        default:
            throw Fault("The store's mark \(self.path) is damaged. To go on without it, remove it.")
        }
        // This write allocates the block of the file. A disk that fills up later cannot prevent the next writes.
        try self.advance(to: last)
        return finding
    }

    /// Notes that the store has acknowledged this commit.
    package func advance(to number: UInt64) throws(Fault) {
        var mark = (number, ~number)
        let count = withUnsafeBytes(of: &mark) { pwrite(self.descriptor, $0.baseAddress, Self.length, 0) }
        guard count == Self.length else { throw self.unwritable }
    }

    /// Makes this process the owner. The earlier owner notices it by ``isTaken``.
    package func take() throws(Fault) {
        var owner = self.owner
        let count = withUnsafeBytes(of: &owner) { pwrite(self.descriptor, $0.baseAddress, $0.count, Self.ownerOffset) }
        guard count == MemoryLayout<UInt64>.size else { throw self.unwritable }
        // Without `fsync`, the number may be only in the memory of this machine, where another machine cannot see it.
        guard fsync(self.descriptor) == 0 else { throw self.unwritable }
    }

    /// Whether another process has called ``take()`` since this one has.
    ///
    /// The check opens the file again. NFS then asks its server (RFC 7530, section 10.3.1), and a replaced file is
    /// noticed. On a local disk it costs some microseconds.
    package var isTaken: Bool {
        let opened = open(self.path, O_RDONLY | O_CLOEXEC)
        defer { if opened >= 0 { close(opened) } }
        var found: UInt64 = 0
        let count = withUnsafeMutableBytes(of: &found) {
            // If the process has no descriptor left, the open one still shows another owner on this machine.
            pread(opened < 0 ? self.descriptor : opened, $0.baseAddress, $0.count, Self.ownerOffset)
        }
        // A mark that cannot be read does not prove another owner. The next commit reports the fault.
        return count == MemoryLayout<UInt64>.size && found != self.owner
    }

    private var unwritable: Fault {
        Fault("The store's mark \(self.path) cannot be written: \(self.reason).")
    }

    /// The text of the system's last error.
    private var reason: String { String(cString: strerror(self.openError ?? errno)) }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}
