internal import CFerrySQLite

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// One connection to a database file that no other process uses meanwhile.
///
/// SQLite before 3.51.3 can damage a write-ahead log when two connections write. So the lock is exclusive, and kept until
/// the connection closes (sqlite.org/wal.html, "The WAL-reset bug"; sqlite.org/pragma.html#pragma_locking_mode).
///
/// Not `Sendable`, and every call may wait for the disk: use it on one thread that is no event loop.
package final class SQLiteDatabase {
    /// How far a write goes before a transaction counts as committed.
    package enum Durability: String, Sendable {
        /// To the operating system: a killed process loses nothing, a loss of power may lose the last transactions.
        case process = "NORMAL"
        /// To the disk.
        case power = "FULL"
    }

    private let handle: OpaquePointer
    private let path: String
    private let place: Place

    /// What a name stands for.
    private struct Place: Equatable {
        var device: UInt64
        var inode: UInt64

        init(_ status: stat) {
            self.device = UInt64(status.st_dev)
            self.inode = UInt64(status.st_ino)
        }
    }

    /// Opens the file; makes it if there is none, readable by its owner alone.
    ///
    /// - Throws: ``SQLiteError``: `locked` when another process has the file, `damaged` when it is no database.
    package init(path: String, durability: Durability) throws(SQLiteError) {
        // SQLite would make the file for everyone; its log gets the permissions of the file.
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
        // To SQLite, ":memory:" is no file, and "file:" begins a URI.
        let name = path.hasPrefix("/") ? path : "./\(path)"
        let code = sqlite3_open_v2(name, &handle, flags, nil)
        // There is a handle after most failures, too.
        guard code == SQLITE_OK, let handle else {
            sqlite3_close_v2(handle)
            throw SQLiteError(code: code, path: path)
        }
        self.handle = handle
        self.path = path
        // In this order: the page size has an effect before the log exists, and the lock before the log is opened. A log
        // whose lock is exclusive needs no shared memory. A short commit writes three pages, so pages are small. To copy the
        // log into the file takes some 50 ms, and commits wait meanwhile: so that is rare, after 64 MB. Deleted bytes stay in
        // the file until others take their place.
        for pragma in [
            "page_size = 4096", "locking_mode = EXCLUSIVE", "journal_mode = WAL",
            "synchronous = \(durability.rawValue)", "secure_delete = OFF", "wal_autocheckpoint = 16000",
            "journal_size_limit = 67108864",
        ] {
            try self.execute("PRAGMA \(pragma)")
        }
        // The lock is taken with the first transaction, and not earlier.
        try self.transaction { () throws(SQLiteError) in }
        try self.check()
    }

    /// Finds damage that a search in the file would step over: rows would be missing, and nobody would know.
    private func check() throws(SQLiteError) {
        var isGood = false
        try self.prepare("PRAGMA quick_check(1)").run { row in isGood = row.blob(0) == Array("ok".utf8) }
        guard isGood else { throw self.error(SQLITE_CORRUPT) }
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

    /// Whether the file still has its name: a file that was removed or replaced goes with the connection.
    package var isInPlace: Bool {
        var status = stat()
        return stat(self.path, &status) == 0 && Place(status) == self.place
    }

    /// The rows that the last statement changed.
    package var changeCount: Int { Int(sqlite3_changes(self.handle)) }

    /// Runs `body` as one transaction: all of it is committed, or nothing.
    package func transaction<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        try self.execute("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try self.execute("COMMIT")
            return result
        } catch {
            // A full disk may have rolled the transaction back already.
            if sqlite3_get_autocommit(self.handle) == 0 { try? self.execute("ROLLBACK") }
            throw error
        }
    }

    /// Makes the tables of a new file, or changes those of an earlier version, all or none, and gives the file its version
    /// (`user_version`).
    ///
    /// - Parameter body: gets the version of the file; 0: it is new. Not called for a file that has the version.
    /// - Throws: also when the file has a later version: what it means is not known.
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
