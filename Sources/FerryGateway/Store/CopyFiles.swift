internal import FerryPlatform
internal import FerrySQLite

/// The files of a copy that is being made: the copy and its mark. Both have the names of drafts, in the folder of the
/// copy. They get their own names when they are whole and on the disk. So half a copy is never taken for a whole one.
///
/// Each method may wait for the disk.
struct CopyFiles: Sendable {
    /// The number of epochs by which a copy is ahead. A gateway with the copy begins with an epoch that the copied
    /// store reaches only after some thousand starts. Otherwise both gateways could give two notifications one
    /// `apns-id`.
    static let epochsAhead: Range<UInt64> = 4096..<8192
    /// The largest epoch of a store that can be copied. A gateway can then still start some thousand times with the
    /// copy.
    static let lastEpoch = Journal.epochs.upperBound - 2 * CopyFiles.epochsAhead.upperBound

    /// The path of the copy.
    let path: String

    init(_ path: String) { self.path = path }

    private var markPath: String { "\(self.path)-mark" }
    /// The path of the copy until it is whole.
    var draft: String { "\(self.path).ferry-draft" }
    private var markDraft: String { "\(self.draft)-mark" }
    private var folder: String { Self.folder(of: self.path) }

    static func folder(of path: String) -> String {
        let slash = path.lastIndex(of: "/")
        return slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// The number of the file system of a folder; nil with `errno` if there is no such folder, or if it cannot be
    /// looked at.
    static func device(of folder: String) -> UInt64? {
        var status = stat()
        guard stat(folder, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            errno = ENOTDIR
            return nil
        }
        return UInt64(truncatingIfNeeded: status.st_dev)
    }

    private func error(_ predicate: String) -> StoreError { StoreError("\(self.path) \(predicate)") }

    /// - Parameter code: the system's error about the folder.
    private func unwritable(_ code: Int32) -> StoreError {
        switch code {
        case ENOENT, ENOTDIR:
            return self.error("cannot be written: there is no folder \(self.folder). Make it, or name another one.")
        case EACCES, EPERM, EROFS:
            return self.error(
                "cannot be written: \(String(cString: strerror(code))). The process that has the store writes the copy, "
                    + "and needs the right to write in \(self.folder)."
            )
        default:
            return self.error("cannot be written: \(String(cString: strerror(code))).")
        }
    }

    /// - Parameter code: the system's error while the copy was finished.
    private func unfinished(_ code: Int32) -> StoreError {
        self.error("could not be made: \(String(cString: strerror(code))). Look at the disk, and try again.")
    }

    // MARK: The begin

    /// Returns the epoch of a copy.
    ///
    /// - Parameter epoch: the epoch of the store.
    static func epoch(after epoch: UInt64) throws(StoreError) -> UInt64 {
        guard epoch <= Self.lastEpoch else {
            throw StoreError(
                "The store has been started, or restored from copies, too often: a copy would have no apns-ids of its own. "
                    + "When nothing waits for APNs, stop the gateway, and move the store away to begin anew."
            )
        }
        return epoch + UInt64.random(in: Self.epochsAhead)
    }

    /// The free bytes that a copy demands of its disk: for the copy itself, for the log that the store may fill
    /// meanwhile, and a tenth of the store for its growth. Without this reserve, the copy could fill the disk, and the
    /// store would refuse commits.
    ///
    /// - Parameter size: the bytes of the store with its log.
    static func room(for size: Int) -> UInt64 {
        UInt64(size) + UInt64(SQLiteDatabase.logLength) + UInt64(size) / 10
    }

    /// Checks whether the copy can be made, and removes the drafts that a killed process left.
    func prepare(_ claim: CopyClaim) throws(StoreError) {
        guard let device = Self.device(of: self.folder) else { throw self.unwritable(errno) }
        guard claim.device == nil || claim.device == device else {
            throw self.error(
                "is not on the file system of the store. If its disk hung, the gateway would stop: name a file beside the "
                    + "store, and move it afterwards."
            )
        }
        self.removeLostMark()
        try self.requireNone()
        self.remove()
        guard access(self.folder, W_OK | X_OK) == 0 else { throw self.unwritable(errno) }
        var status = statvfs()
        guard statvfs(self.folder, &status) == 0 else { throw self.unwritable(errno) }
        let (free, isBeyond) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        let room = Self.room(for: claim.size)
        guard isBeyond || free >= room else {
            throw self.error(
                "needs \(room) free bytes, with a reserve for the store, and its disk has \(free): make room first."
            )
        }
    }

    /// Refuses to replace a file.
    private func requireNone() throws(StoreError) {
        for name in [self.path, self.markPath] where Self.exists(name) {
            throw StoreError("\(name) exists already: name a file that does not exist.")
        }
    }

    /// Removes the mark of a copy if the process was killed when the mark had its name and the copy still had the name
    /// of a draft. Any other mark stays, because it may be in use.
    private func removeLostMark() {
        guard Self.exists(self.draft), !Self.exists(self.markDraft), !Self.exists(self.path) else { return }
        unlink(self.markPath)
    }

    private static func exists(_ name: String) -> Bool {
        var status = stat()
        return lstat(name, &status) == 0
    }

    // MARK: The end

    /// Removes the drafts.
    func remove() {
        for name in [self.draft, "\(self.draft)-wal", "\(self.draft)-journal", self.markDraft] { unlink(name) }
    }

    /// Checks a whole draft, marks it as a copy, and gives it its name.
    ///
    /// - Parameters:
    ///   - claim: has the epoch of the copy.
    ///   - copiedAt: when the last page of the copy was copied, in UNIX seconds.
    ///   - desk: says whether the copy is still wanted.
    func finish(_ claim: CopyClaim, copiedAt: UInt32, _ desk: CopyDesk) throws(StoreError) -> StoreCopy {
        try desk.requireWanted()
        let last: UInt64
        do throws(SQLiteError) {
            last = try self.note(claim, copiedAt)
        } catch {
            throw StoreError("The copy cannot be used. \(error)")
        }
        try desk.requireWanted()
        // When SQLite closes the last connection to the draft, it copies the log into the file, and removes the log. A
        // log that stayed shows that the copying failed.
        guard !Self.exists("\(self.draft)-wal") else {
            throw self.error("could not be made: its log stayed. Look at the disk, and try again.")
        }
        do throws(HighWaterMark.Fault) {
            _ = try HighWaterMark(path: self.markDraft).check(last: last, of: self.draft)
        } catch {
            throw StoreError(error.description)
        }
        try self.sync(self.markDraft)
        try self.sync(self.draft)
        var status = stat()
        guard stat(self.draft, &status) == 0 else { throw self.unfinished(errno) }
        try self.requireNone()
        try desk.beginNaming()
        guard rename(self.markDraft, self.markPath) == 0 else { throw self.unfinished(errno) }
        guard rename(self.draft, self.path) == 0 else {
            let code = errno
            unlink(self.markPath)
            throw self.unfinished(code)
        }
        self.syncFolder()
        return StoreCopy(path: self.path, copiedAt: copiedAt, bytes: Int(status.st_size))
    }

    /// Writes the copy's epoch and its ``CopyRow``. Opening the file also checks it for damage. Returns the number of
    /// the last commit in the copy.
    private func note(_ claim: CopyClaim, _ copiedAt: UInt32) throws(SQLiteError) -> UInt64 {
        let database = try SQLiteDatabase(path: self.draft, durability: .power)
        var last: UInt64 = 0
        try database.transaction { () throws(SQLiteError) in
            try database.prepare("SELECT last FROM store").run { row in last = UInt64(bitPattern: row.integer(0)) }
            try database.prepare("UPDATE store SET epoch = ?").run([.integer(Int64(bitPattern: claim.epoch))])
            try database.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)").run([
                .integer(Int64(StoreTable.copy.rawValue)), .blob(CopyRow.key),
                .blob(CopyRow.value(at: copiedAt, epoch: claim.epoch)),
            ])
        }
        return last
    }

    /// Waits until a file is on the disk.
    private func sync(_ name: String) throws(StoreError) {
        let descriptor = open(name, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw self.unfinished(errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw self.unfinished(errno) }
    }

    /// Waits until the new names are on the disk. Some file systems cannot wait for a folder, so faults are ignored.
    /// The bytes of the files are on the disk already.
    private func syncFolder() {
        let descriptor = open(self.folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
