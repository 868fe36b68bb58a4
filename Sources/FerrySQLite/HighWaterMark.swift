internal import FerryPlatform

/// The number of the last commit that a store has acknowledged, and its owner, in a file of their own.
///
/// A damaged page looks to SQLite like the end of the write-ahead log, and SQLite then calls the file good. In a trial,
/// half of the acknowledged commits were lost in this way. The number in a second file shows the loss.
///
/// A connection with SQLite's exclusive lock never looks whether another one writes. If the file system keeps no locks, two
/// processes would write over each other. So each owner leaves a random number here, and looks for it before and after
/// each commit. A commit that is acknowledged then ended before another process came, and that process finds it.
///
/// ```
///   0         8           16        24
///   ┌─────────┬───────────┬─────────┐
///   │ number  │ ~ number  │  owner  │   native byte order
///   └─────────┴───────────┴─────────┘
/// ```
///
/// The mark of a store that nobody has taken ends after 16 bytes. That of a store that was taken before its first commit
/// begins with 16 zeros.
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

    private let path: String
    private let descriptor: Int32
    /// The error of the system that the opening met; nil if the file is open.
    private let openError: Int32?
    /// The number of this owner.
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
        // The write gives the file its block now. A disk that fills up later cannot prevent the next writes.
        try self.advance(to: last)
        return finding
    }

    /// Notes that the store has acknowledged this commit.
    package func advance(to number: UInt64) throws(Fault) {
        var mark = (number, ~number)
        let count = withUnsafeBytes(of: &mark) { pwrite(self.descriptor, $0.baseAddress, Self.length, 0) }
        guard count == Self.length else { throw self.unwritable }
    }

    /// Makes this process the owner. The owner before it finds that out with ``isTaken``.
    package func take() throws(Fault) {
        var owner = self.owner
        let count = withUnsafeBytes(of: &owner) { pwrite(self.descriptor, $0.baseAddress, $0.count, Self.ownerOffset) }
        guard count == MemoryLayout<UInt64>.size else { throw self.unwritable }
        // Another machine does not see what only the memory of this one has.
        guard fsync(self.descriptor) == 0 else { throw self.unwritable }
    }

    /// Whether another process has called ``take()`` since this one has.
    ///
    /// It opens the file anew, so that NFS asks its server (RFC 7530, section 10.3.1), and a mark that was replaced is
    /// found. On a local disk that costs some microseconds.
    package var isTaken: Bool {
        let opened = open(self.path, O_RDONLY | O_CLOEXEC)
        defer { if opened >= 0 { close(opened) } }
        var found: UInt64 = 0
        let count = withUnsafeMutableBytes(of: &found) {
            // If the process has no descriptor left, the kept one still shows an owner on this machine.
            pread(opened < 0 ? self.descriptor : opened, $0.baseAddress, $0.count, Self.ownerOffset)
        }
        // A mark that cannot be read says nothing of another owner, and the next commit finds the fault.
        return count == MemoryLayout<UInt64>.size && found != self.owner
    }

    private var unwritable: Fault {
        Fault("The store's mark \(self.path) cannot be written: \(self.reason).")
    }

    /// The words for the error that the last call met.
    private var reason: String { String(cString: strerror(self.openError ?? errno)) }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}
