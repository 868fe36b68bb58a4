internal import CFerrySQLite
internal import FerryPlatform

/// A connection to a database file. If the file system has locks, no other process can use the file meanwhile.
///
/// SQLite before 3.51.3 can damage a write-ahead log when two connections write. So the lock is exclusive, and the
/// connection keeps the lock until the connection closes (sqlite.org/wal.html, "The WAL-reset bug";
/// sqlite.org/pragma.html#pragma_locking_mode).
///
/// The class is not `Sendable`, and each call may wait for the disk. Use it on one thread, and not on an event loop.
package final class SQLiteDatabase {
    /// The place that the bytes of a transaction reach before the transaction counts as committed.
    package enum Durability: String, Sendable {
        /// The operating system: a killed process loses nothing, but a loss of power may lose the last transactions.
        case process = "NORMAL"
        /// The disk: a loss of power loses nothing that was committed.
        case power = "FULL"
    }

    /// The length of the write-ahead log, in bytes, at which it is copied into the file and begins again.
    package static let logLength = 16 << 20
    /// The length of a page of the file and of the log, in bytes.
    private static let pageLength = 4096

    private let handle: OpaquePointer
    private let path: String
    private let place: Place

    /// The identity of the file that a path leads to.
    struct Place: Equatable {
        private var device: UInt64
        private var inode: UInt64

        init(_ status: stat) {
            self.device = UInt64(status.st_dev)
            self.inode = UInt64(status.st_ino)
        }

        /// Returns nil if the path leads to no file.
        init?(of path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            self.init(status)
        }
    }

    /// Opens the file. If the file does not exist, it is made, and only its owner can read it.
    ///
    /// - Throws: ``SQLiteError`` with `locked` when another process has the file, with `damaged` when the file is
    ///   damaged or is not a database, and with another kind, such as `inaccessible`, when another step fails.
    package convenience init(path: String, durability: Durability) throws(SQLiteError) {
        try self.init(unchecked: path, durability: durability)
        do {
            try self.check()
        } catch {
            // On a file system without locks, the file may look damaged because another process writes it. That process
            // then needs the log.
            self.keepLogAtClose()
            throw error
        }
    }

    /// Opens the file as ``init(path:durability:)`` does, but without the check for damage. Call ``check()``
    /// afterwards.
    package init(unchecked path: String, durability: Durability) throws(SQLiteError) {
        // SQLite would make the file readable for everyone. Its log gets the permissions of the file.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw SQLiteError(code: SQLITE_CANTOPEN, path: path, reason: String(cString: strerror(errno)))
        }
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        close(descriptor)
        guard isKnown else {
            throw SQLiteError(code: SQLITE_CANTOPEN, path: path, reason: String(cString: strerror(errno)))
        }
        self.place = Place(status)
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        // SQLite makes no file for ":memory:", and reads "file:" as the start of a URI. With "./" in front, each text
        // is a file name.
        let name = path.hasPrefix("/") ? path : "./\(path)"
        let code = sqlite3_open_v2(name, &handle, flags, nil)
        // SQLite makes a handle even if the call fails for most reasons. That handle must be closed, too.
        guard code == SQLITE_OK, let handle else {
            sqlite3_close_v2(handle)
            throw SQLiteError(code: code, path: path)
        }
        self.handle = handle
        self.path = path
        do {
            try self.lock(durability)
        } catch {
            self.keepLogAtClose()
            throw error
        }
    }

    /// Takes the file for this connection alone.
    private func lock(_ durability: Durability) throws(SQLiteError) {
        // The order matters. The page size has no effect once the log exists. The lock must be exclusive before the
        // log is opened: SQLite then keeps the index of the log in its own memory, and not in a shared file
        // (sqlite.org/wal.html, "Use of WAL Without Shared-Memory"). Pages are small because a short commit writes
        // three of them. Commits wait while the log is copied into the file: some 15 ms for 16 MB, and the disk takes
        // most of that time. Deleted bytes stay in the file until other bytes overwrite them.
        for pragma in [
            "page_size = \(Self.pageLength)", "locking_mode = EXCLUSIVE", "journal_mode = WAL",
            "synchronous = \(durability.rawValue)", "secure_delete = OFF",
            "wal_autocheckpoint = \(Self.logLength / Self.pageLength)", "journal_size_limit = \(Self.logLength)",
        ] {
            try self.execute("PRAGMA \(pragma)")
        }
        // SQLite takes the lock with the first transaction, so an empty transaction takes the lock now.
        try self.transaction { () throws(SQLiteError) in }
    }

    /// Checks the file for damage, and throws `damaged` if it has any. A query skips a damaged page without an error,
    /// so rows would be missing.
    package func check() throws(SQLiteError) {
        var isGood = false
        try self.prepare("PRAGMA quick_check(1)").run { row in isGood = row.blob(0) == Array("ok".utf8) }
        guard isGood else { throw self.error(SQLITE_CORRUPT) }
    }

    /// Whether the write-ahead log has bytes. They come from this connection, from a killed process, or from a process
    /// that has the file without a lock.
    package var hasLog: Bool {
        var status = stat()
        return stat("\(Self.realPath(of: self.path))-wal", &status) == 0 && status.st_size > 0
    }

    /// The path of a file without symbolic links; `path` itself if it leads to no file. SQLite writes the log beside
    /// the file to which links lead.
    package static func realPath(of path: String) -> String {
        let real = realpath(path, nil)
        defer { free(real) }
        return real.map { String(cString: $0) } ?? path
    }

    deinit { sqlite3_close_v2(self.handle) }

    /// Runs statements without results.
    package func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(self.handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw self.error(code) }
    }

    /// Prepares a statement that is used often.
    package func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(self.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw self.error(code) }
        return SQLiteStatement(handle: statement, database: self)
    }

    /// Begins a copy of the database in a new file.
    ///
    /// - Throws: ``SQLiteError`` when the file exists, or cannot be made.
    package func backup(to path: String) throws(SQLiteError) -> SQLiteBackup {
        try SQLiteBackup(of: self.handle, self, to: path)
    }

    /// Whether the path still leads to the open file. If the file was removed or replaced, all later writes are lost
    /// when the connection closes.
    package var isInPlace: Bool { Place(of: self.path) == self.place }

    /// Leaves the log as it is when the connection closes. Call this function when another process has the file in
    /// spite of the lock. Otherwise SQLite would copy its own older pages over those of the other process, and remove
    /// the log.
    package func keepLogAtClose() {
        let code = cferry_sqlite3_keep_log_at_close(self.handle)
        assert(code == SQLITE_OK, "SQLite has the option since 3.16")
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    package var changeCount: Int { Int(sqlite3_changes(self.handle)) }

    /// Runs `body` as one transaction. Either all its changes are committed, or none.
    package func transaction<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        try self.execute("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try self.execute("COMMIT")
            return result
        } catch {
            // After an error such as a full disk, SQLite may have rolled the transaction back already.
            if sqlite3_get_autocommit(self.handle) == 0 { try? self.execute("ROLLBACK") }
            throw error
        }
    }

    /// Makes the tables of a new file, or changes the tables of an earlier version, and then writes `version` into the
    /// file (`user_version`). All of it is one transaction.
    ///
    /// - Parameter body: gets the version of the file, which is 0 for a new file. `body` is not called if the file
    ///   has `version` already.
    /// - Throws: ``SQLiteError``, also when the file has a later version.
    package func make(version: Int64, _ body: (_ found: Int64) throws(SQLiteError) -> Void) throws(SQLiteError) {
        try self.transaction { () throws(SQLiteError) in
            var found: Int64 = 0
            try self.prepare("PRAGMA user_version").run { row in found = row.integer(0) }
            guard found <= version else {
                throw SQLiteError(code: SQLITE_MISMATCH, path: self.path, reason: "a later version of Ferry wrote it")
            }
            guard found < version else { return }
            try body(found)
            try self.execute("PRAGMA user_version = \(version)")
        }
    }

    func error(_ code: Int32) -> SQLiteError { SQLiteError(code: code, path: self.path) }
}
