internal import CFerrySQLite

/// The version of SQLite that runs in this process.
package enum SQLiteVersion {
    /// The version as three numbers: `3.40.1`.
    package static var current: String { String(cString: sqlite3_libversion()) }
}
