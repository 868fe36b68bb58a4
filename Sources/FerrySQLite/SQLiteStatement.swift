internal import CFerrySQLite

/// A prepared statement of a ``SQLiteDatabase``.
///
/// The class is not `Sendable`. Use and release it on the thread of the database.
package final class SQLiteStatement {
    private let handle: OpaquePointer
    /// The database, so that its connection stays open while the statement lives.
    private let database: SQLiteDatabase

    init(handle: OpaquePointer, database: SQLiteDatabase) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(self.handle) }

    /// Binds the values to the statement's parameters in order, runs the statement, and calls `body` with each row.
    package func run(
        _ values: [SQLiteValue] = [],
        _ body: (borrowing SQLiteRow) throws(SQLiteError) -> Void = { _ in }
    ) throws(SQLiteError) {
        defer {
            sqlite3_reset(self.handle)
            sqlite3_clear_bindings(self.handle)
        }
        for (index, value) in values.enumerated() { try self.bind(value, at: Int32(index + 1)) }
        while true {
            switch sqlite3_step(self.handle) {
            case SQLITE_ROW: try body(SQLiteRow(statement: self.handle))
            case SQLITE_DONE: return
            case let code: throw self.database.error(code)
            }
        }
    }

    private func bind(_ value: SQLiteValue, at index: Int32) throws(SQLiteError) {
        // `SQLITE_TRANSIENT` is a C cast that Swift cannot import. It makes SQLite copy the bytes.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        let code =
            switch value {
            case .integer(let number): sqlite3_bind_int64(self.handle, index, number)
            case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(self.handle, index, 0)
            case .blob(let bytes):
                bytes.withUnsafeBytes {
                    sqlite3_bind_blob64(self.handle, index, $0.baseAddress, UInt64($0.count), copies)
                }
            }
        guard code == SQLITE_OK else { throw self.database.error(code) }
    }
}

/// A value of a parameter.
package enum SQLiteValue: Hashable, Sendable {
    case integer(Int64)
    case blob([UInt8])
}

/// A row of a result, valid only inside the closure that gets the row. SQLite converts a column of another type; NULL
/// reads as 0 or as no bytes.
package struct SQLiteRow: ~Copyable {
    private let statement: OpaquePointer

    init(statement: OpaquePointer) { self.statement = statement }

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(self.statement, column) }

    package func blob(_ column: Int32) -> [UInt8] {
        // The pointer is read first, because this call may convert the value. The length is then that of the converted
        // value.
        let bytes = sqlite3_column_blob(self.statement, column)
        let count = Int(sqlite3_column_bytes(self.statement, column))
        return Array(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }
}
