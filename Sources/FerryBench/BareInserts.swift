internal import FerryPostgres

#if PostgreSQL
internal import CFerryPostgreSQL

/// A connection of libpq that inserts segments, and waits for the answer to each insert.
final class BareInserts {
    private static let name = "insert"

    private let handle: OpaquePointer

    /// - Parameter connection: a connection string of libpq.
    /// - Throws: ``BenchImbalance`` when PostgreSQL cannot be reached, or refuses; `PostgresError` when the connection
    ///   string cannot be used.
    init(_ connection: String) throws {
        // The store that is compared with these inserts has the same settings.
        let settings = PostgresSettings(connection, name: "ferry bench", parameters: PostgresSettings.committing)
        guard let handle = try settings.connectAndWait() else {
            throw BenchImbalance(description: "libpq has no memory.")
        }
        self.handle = handle
        try self.check(PQstatus(handle) == CONNECTION_OK)
        let result = PQprepare(handle, Self.name, "insert into ferry.segment values (0, $1, $2)", 0, nil)
        defer { PQclear(result) }
        try self.check(PQresultStatus(result) == PGRES_COMMAND_OK)
    }

    deinit { PQfinish(self.handle) }

    func insert(_ bytes: [UInt8], number: Int) throws {
        try withUnsafeBytes(of: Int64(number).bigEndian) { number in
            try bytes.withUnsafeBytes { bytes in
                let values = [number, bytes].map { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
                let result = PQexecPrepared(
                    self.handle,
                    Self.name,
                    2,
                    values,
                    [Int32(number.count), Int32(bytes.count)],
                    [1, 1],
                    1
                )
                defer { PQclear(result) }
                try self.check(PQresultStatus(result) == PGRES_COMMAND_OK)
            }
        }
    }

    private func check(_ isGood: Bool) throws {
        guard !isGood else { return }
        let message = PQerrorMessage(self.handle).map { String(cString: $0) } ?? ""
        throw BenchImbalance(description: "libpq: \(message)")
    }
}
#else
final class BareInserts {
    init(_ connection: String) throws { throw PostgresError.missing }

    func insert(_ bytes: [UInt8], number: Int) throws { throw PostgresError.missing }
}
#endif
