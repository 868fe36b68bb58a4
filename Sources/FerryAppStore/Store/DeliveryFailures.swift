internal import FerryCore
internal import FerrySQLite

/// The reason for the last failure of each delivery. The reasons have their own table, because few deliveries fail.
///
/// The type is not `Sendable`: the store's thread uses it.
struct DeliveryFailures {
    /// The longest reason in bytes. A reason contains host names and texts of the system, which can be long.
    private static let longest = 400

    private let put: SQLiteStatement
    private let drop: SQLiteStatement

    /// Makes the table in stores that do not have it.
    init(_ database: SQLiteDatabase) throws(SQLiteError) {
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS failures (
                destination INTEGER NOT NULL, number INTEGER NOT NULL, reason BLOB NOT NULL,
                PRIMARY KEY (destination, number)
            ) WITHOUT ROWID;
            CREATE INDEX IF NOT EXISTS failures_number ON failures (number);
            """
        )
        self.put = try database.prepare(
            "INSERT OR REPLACE INTO failures (destination, number, reason) VALUES (?, ?, ?)"
        )
        self.drop = try database.prepare("DELETE FROM failures WHERE destination = ? AND number = ?")
    }

    /// Notes the result of an attempt.
    ///
    /// - Parameter place: the destination and the number of the delivery.
    func note(_ result: StoreFile.Attempt.Result, at place: [SQLiteValue]) throws(SQLiteError) {
        switch result {
        case .delivered: try self.drop.run(place)
        // Without a reason, the task of ``AppStoreStore/run()`` was cancelled during the attempt. A cancellation is
        // not a failure, so the last reason stays.
        case .again(_, nil): break
        case .again(_, let reason?), .dead(let reason):
            try self.put.run(place + [.blob(Array(reason.printable.beginning(utf8: Self.longest).utf8))])
        }
    }
}
