internal import CFerrySQLite

/// An error of SQLite, and the file that has it.
package struct SQLiteError: Error, Hashable, CustomStringConvertible {
    /// The kinds of errors. The owner of the database reacts differently to each.
    package enum Kind: Hashable, Sendable {
        /// Another process has the file.
        case locked
        /// The disk or its quota is full.
        case full
        /// The file is damaged, or is not a database.
        case damaged
        /// The file cannot be opened, read or written.
        case inaccessible
        case other
    }

    package let kind: Kind
    /// The extended result code (sqlite.org/rescode.html).
    package let code: Int32
    /// One sentence with the path and the reason.
    package let description: String

    /// - Parameter reason: a text for ``Kind/inaccessible`` and ``Kind/other``, such as the system's error; nil for
    ///   SQLite's text.
    init(code: Int32, path: String, reason: String? = nil) {
        self.code = code
        self.kind =
            switch code & 0xff {
            case SQLITE_BUSY, SQLITE_LOCKED: .locked
            case SQLITE_FULL: .full
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: .damaged
            case SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_PERM, SQLITE_READONLY: .inaccessible
            default: .other
            }
        let words =
            switch self.kind {
            case .locked: "another process uses it"
            case .full: "the disk is full"
            case .damaged: "it is damaged, or no database"
            case .inaccessible, .other: reason ?? String(cString: sqlite3_errstr(code))
            }
        self.description = "\(path): \(words) (SQLite \(code))."
    }
}
