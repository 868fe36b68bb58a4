internal import FerryPlatform

/// A small file beside a store, with the number of the last acknowledged commit and the number of the owner.
///
/// SQLite treats a damaged page as the end of the write-ahead log, and reports no error. Acknowledged commits behind
/// that page are lost. The number in a second file shows the loss.
///
/// A connection with SQLite's exclusive lock never checks whether another connection writes. On a file system without
/// locks, two processes would overwrite each other. So each gateway writes a random number here when it becomes the
/// owner, and reads the number before and after each commit. An acknowledged commit then ended before another process
/// became the owner, and that process finds the commit. The store of the App Store does not use the owner.
///
/// ```
///   0         8           16        24
///   ┌─────────┬───────────┬─────────┐
///   │ number  │ ~ number  │  owner  │   native byte order
///   └─────────┴───────────┴─────────┘
/// ```
///
/// Before the first ``take()``, the file has no owner and at most 16 bytes. If ``take()`` comes before the first number
/// is written, the file begins with 16 zeros.
package final class HighWaterMark {
    private static let length = 16
    private static let wholeLength = 24
    private static let ownerOffset: off_t = 16

    /// A fault of the mark, described in sentences for an operator.
    package struct Fault: Error, CustomStringConvertible {
        package let description: String
        /// Whether the file was read, but does not hold a valid mark.
        package let isDamage: Bool

        init(_ description: String, isDamage: Bool = false) {
            self.description = description
            self.isDamage = isDamage
        }
    }

    /// The result of a check that found no fault.
    package enum Finding {
        /// The store has every commit that was acknowledged.
        case agrees
        /// The mark had no number, mostly because its file is new. The check wrote the number.
        case isNew
    }

    /// The path of the mark of a store that exists. A symbolic link to the store leads to the same mark, so that
    /// processes with different names of the store share one mark.
    package static func path(of store: String) -> String { "\(SQLiteDatabase.realPath(of: store))-mark" }

    /// The path of a second mark, beside the symbolic link `store`; nil without such a mark. An earlier release put its
    /// mark there, and a process of that release looks nowhere else.
    private static func earlierPath(of store: String) -> String? {
        let path = SQLiteDatabase.realPath(of: "\(store)-mark")
        // Two paths to one folder lead to one mark, which must stay.
        guard let place = SQLiteDatabase.Place(of: path), place != SQLiteDatabase.Place(of: Self.path(of: store)) else {
            return nil
        }
        return path
    }

    /// Moves the mark of an earlier release to the path of the store's mark. A process of that release keeps the file
    /// open, and so finds the next owner there.
    private static func move(_ earlier: String, to path: String) throws(Fault) {
        if access(path, F_OK) != 0, rename(earlier, path) == 0 { return }
        // The mark was not renamed, because the store has one already, or because the earlier mark is on another file
        // system. The larger of both numbers stays, because only it shows every lost commit.
        let (old, new) = (HighWaterMark(earlier, O_RDWR), HighWaterMark(path: path))
        // ``take()`` comes before the read. Otherwise the process of the earlier release could acknowledge commits
        // after the read.
        try old.take()
        if let number = try old.read().number, number > (try new.read().number ?? 0) {
            try new.advance(to: number)
            try new.sync()
        }
        guard unlink(earlier) == 0 else {
            throw Fault(
                "The mark \(earlier) of an earlier release cannot be moved to \(path): \(String(cString: strerror(errno))). "
                    + "Remove it: its number is in \(path)."
            )
        }
    }

    /// The numbers in a mark; 0 for a number that the mark does not have.
    package struct Contents: Hashable, Sendable {
        package var number: UInt64 = 0
        package var owner: UInt64 = 0
    }

    private let path: String
    private let descriptor: Int32
    /// The system's error when the file was opened; nil if the file is open.
    private let openError: Int32?
    /// The number that this owner writes.
    private let owner = UInt64.random(in: .min ... .max)

    package convenience init(path: String) { self.init(path, O_RDWR | O_CREAT) }

    /// Opens the mark of a store that exists. Makes the mark if it is missing. The mark of an earlier release beside a
    /// symbolic link becomes the mark of the store; see ``path(of:)``.
    ///
    /// - Throws: ``Fault`` when the mark of the earlier release cannot be moved. If the mark of the store cannot be
    ///   opened, the next method that uses the mark throws.
    package convenience init(of store: String) throws(Fault) {
        let path = Self.path(of: store)
        if let earlier = Self.earlierPath(of: store) { try Self.move(earlier, to: path) }
        self.init(path: path)
    }

    private init(_ path: String, _ flags: Int32) {
        self.path = path
        self.descriptor = open(path, flags | O_CLOEXEC, 0o600)
        self.openError = self.descriptor < 0 ? errno : nil
    }

    deinit { if self.openError == nil { close(self.descriptor) } }

    /// Compares the mark with the number of the last commit that the store has, and then writes this number to the
    /// mark.
    ///
    /// - Throws: ``Fault`` when the store has lost commits, or when the mark cannot be used.
    package func check(last: UInt64, of store: String) throws(Fault) -> Finding {
        let found = try self.read()
        if let mark = found.number, mark > last {
            throw Fault(
                "The store \(store) has lost its last commits: it ends with \(last), and \(mark) was acknowledged. The disk may "
                    + "be damaged. If this file is a copy, put its own mark beside it. To go on with what is left, remove "
                    + "\(self.path)."
            )
        }
        // This write allocates the block of the file, so a disk that fills up later does not make the next writes fail.
        try self.advance(to: last)
        return found.number == nil ? .isNew : .agrees
    }

    /// Reads the mark of a store, and the mark of an earlier release beside a symbolic link. Returns the marks that
    /// exist.
    ///
    /// The marks do not change, because they may belong to other processes.
    package static func contents(of store: String) throws(Fault) -> [Contents] {
        var contents: [Contents] = []
        for path in [Self.path(of: store), Self.earlierPath(of: store)] {
            guard let path, access(path, F_OK) == 0 else { continue }
            let found = try HighWaterMark(path, O_RDONLY).read()
            contents.append(Contents(number: found.number ?? 0, owner: found.owner))
        }
        return contents
    }

    /// Returns the number, nil if the mark does not have it; and the owner, 0 if no process has taken the mark.
    private func read() throws(Fault) -> (number: UInt64?, owner: UInt64) {
        var bytes = [UInt8](repeating: 0, count: Self.wholeLength)
        let count = pread(self.descriptor, &bytes, Self.wholeLength, 0)
        guard count >= 0 else { throw Fault("The store's mark \(self.path) cannot be read: \(self.reason).") }
        let (number, complement) = (Self.number(bytes[..<8]), Self.number(bytes[8..<Self.length]))
        let owner = count == Self.wholeLength ? Self.number(bytes[Self.length...]) : 0
        if count == 0 || count >= Self.length && number == 0 && complement == 0 { return (nil, owner) }
        guard count >= Self.length, number == ~complement else {
            throw Fault("The store's mark \(self.path) is damaged. To go on without it, remove it.", isDamage: true)
        }
        return (number, owner)
    }

    /// Writes the number of a commit that the store has. Call this method before the commit is acknowledged.
    package func advance(to number: UInt64) throws(Fault) {
        var mark = (number, ~number)
        let count = withUnsafeBytes(of: &mark) { pwrite(self.descriptor, $0.baseAddress, Self.length, 0) }
        guard count == Self.length else { throw self.unwritable }
    }

    /// Makes this process the owner. The earlier owner then finds ``isTaken`` true.
    package func take() throws(Fault) {
        var owner = self.owner
        let count = withUnsafeBytes(of: &owner) { pwrite(self.descriptor, $0.baseAddress, $0.count, Self.ownerOffset) }
        guard count == MemoryLayout<UInt64>.size else { throw self.unwritable }
        // Without this call, the owner may be only in the memory of this machine, where another machine cannot see it.
        try self.sync()
    }

    private func sync() throws(Fault) {
        guard fsync(self.descriptor) == 0 else { throw self.unwritable }
    }

    /// Whether another process has called ``take()`` after this process did.
    ///
    /// The check opens the file again. NFS then asks its server (RFC 7530, section 10.3.1), and a replaced file is
    /// noticed. On a local disk the check costs some microseconds.
    package var isTaken: Bool {
        let opened = open(self.path, O_RDONLY | O_CLOEXEC)
        defer { if opened >= 0 { close(opened) } }
        var found: UInt64 = 0
        let count = withUnsafeMutableBytes(of: &found) {
            // If the process has no descriptor left, the mark's own descriptor still shows another owner on this
            // machine.
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
