internal import CFerrySQLite
internal import FerryPlatform

/// A copy of a database into another file, in steps, while the database is in use (sqlite.org/backup.html).
///
/// The connection that writes the database also makes the copy. SQLite then writes each change of a copied page into
/// the copy at once, and leaves new pages to later steps. So the copy has all commits before its last step. If a second
/// connection made the copy, each commit would restart it. Besides, the exclusive lock allows no second connection; see
/// ``SQLiteDatabase``.
///
/// The class is not `Sendable`. Use and release it on the thread of the database.
package final class SQLiteBackup {
    /// The database, so that its connection stays open while the copy is made.
    private let database: SQLiteDatabase
    private let path: String
    private let target: OpaquePointer
    /// The backup handle of SQLite; nil after ``end()``.
    private var handle: OpaquePointer?

    /// - Parameter source: the connection of `database`.
    init(of source: OpaquePointer, _ database: SQLiteDatabase, to path: String) throws(SQLiteError) {
        // SQLite would make the file readable for everyone, and would accept an existing file.
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw SQLiteError(code: SQLITE_CANTOPEN, path: path, reason: String(cString: strerror(errno)))
        }
        close(descriptor)
        var target: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(path.hasPrefix("/") ? path : "./\(path)", &target, flags, nil)
        guard code == SQLITE_OK, let target else {
            sqlite3_close_v2(target)
            throw SQLiteError(code: code, path: path)
        }
        // An incomplete copy is removed and never repaired. So no write needs to be durable before the copy is
        // complete.
        for pragma in ["journal_mode = MEMORY", "synchronous = OFF"] {
            let code = sqlite3_exec(target, "PRAGMA \(pragma)", nil, nil, nil)
            guard code == SQLITE_OK else {
                sqlite3_close_v2(target)
                throw SQLiteError(code: code, path: path)
            }
        }
        guard let handle = sqlite3_backup_init(target, "main", source, "main") else {
            let code = sqlite3_extended_errcode(target)
            sqlite3_close_v2(target)
            throw SQLiteError(code: code, path: path)
        }
        self.database = database
        self.path = path
        self.target = target
        self.handle = handle
    }

    deinit { self.end() }

    /// Copies at most `pages` pages. Returns whether the copy is complete. After a complete copy, call ``end()``, and
    /// make the file durable.
    package func step(pages: Int) throws(SQLiteError) -> Bool {
        guard let handle else { throw SQLiteError(code: SQLITE_MISUSE, path: self.path) }
        switch sqlite3_backup_step(handle, Int32(clamping: pages)) {
        case SQLITE_DONE: return true
        case SQLITE_OK: return false
        case let code: throw SQLiteError(code: code, path: self.path)
        }
    }

    /// The number of pages that were not copied yet at the last step; 0 before the first step and after ``end()``.
    package var remaining: Int { self.handle.map { Int(sqlite3_backup_remaining($0)) } ?? 0 }

    /// Ends the copy, complete or not, and closes its file.
    package func end() {
        guard let handle = self.handle.take() else { return }
        sqlite3_backup_finish(handle)
        sqlite3_close_v2(self.target)
    }
}
