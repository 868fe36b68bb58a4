#if PostgreSQL
internal import CFerryPostgreSQL

/// The rows of an answer, in the binary format of PostgreSQL's protocol.
///
/// `@unchecked Sendable`: libpq does not change a result that it has returned.
package final class PostgresRows: @unchecked Sendable {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(self.result) }

    package var count: Int { Int(PQntuples(self.result)) }

    /// The number of rows that the statement changed, or that a `select` returned.
    package var changed: Int { Int(String(cString: PQcmdTuples(self.result))) ?? 0 }

    /// Calls `body` with the bytes of a value, which are valid only inside the call. Returns nil if the value is NULL, or if
    /// there is no such row or column.
    package func withBytes<Value>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
        guard 0..<self.count ~= row, 0..<Int(PQnfields(self.result)) ~= column,
            PQgetisnull(self.result, Int32(row), Int32(column)) == 0
        else { return nil }
        let length = Int(PQgetlength(self.result, Int32(row), Int32(column)))
        return body(UnsafeRawBufferPointer(start: PQgetvalue(self.result, Int32(row), Int32(column)), count: length))
    }
}
#else
/// The rows of an answer. A build without PostgreSQL has none.
package final class PostgresRows: Sendable {
    package var count: Int { 0 }
    package var changed: Int { 0 }
    package func withBytes<V>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> V) -> V? { nil }
}
#endif

extension PostgresRows {
    package func bytes(_ row: Int, _ column: Int) -> [UInt8]? { self.withBytes(row, column) { Array($0) } }

    package func text(_ row: Int, _ column: Int) -> String? {
        self.withBytes(row, column) { String(decoding: $0, as: UTF8.self) }
    }

    /// A `smallint`, `int` or `bigint`; or a time, in microseconds since 2000-01-01 (UTC). Nil for NULL, and for a
    /// value that is not 2, 4 or 8 bytes long.
    package func integer(_ row: Int, _ column: Int) -> Int64? {
        self.withBytes(row, column) { bytes -> Int64? in
            switch bytes.count {
            case 2: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
            case 4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
            case 8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
            default: nil
            }
        } ?? nil
    }

    package func boolean(_ row: Int, _ column: Int) -> Bool? {
        self.withBytes(row, column) { $0.first.map { $0 != 0 } } ?? nil
    }
}
