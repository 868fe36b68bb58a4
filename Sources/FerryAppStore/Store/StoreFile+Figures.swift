internal import FerrySQLite

/// The notifications that wait in a store, for operators.
package struct AppStoreStoreFigures: Hashable, Sendable {
    package struct Destination: Hashable, Sendable {
        package var name: String
        /// Whether this process delivers to the destination.
        package var isActive: Bool
        /// Deliveries that wait, at most ``AppStoreStoreFigures/countLimit``.
        package var waiting: Int
        /// Deliveries that were set aside, at most ``AppStoreStoreFigures/countLimit``.
        package var dead: Int
        /// The arrival of the oldest notification that waits, in milliseconds since 1970; nil if no delivery waits.
        package var oldest: Int64?
    }

    /// The largest number that is counted. A count of millions would keep posts waiting for the disk.
    package static let countLimit = 100_000

    package var destinations: [Destination]
    /// The number of notifications in the store. It counts from the oldest to the newest, and includes removed
    /// notifications between them.
    package var kept: Int
    /// The reason why the last write to the store failed; nil if it did not fail.
    package var trouble: String?
}

extension StoreFile {
    /// Counts the deliveries that wait, and those that were set aside. Cost: the reading of up to 200,000 rows of an
    /// index for each destination.
    func figures() throws(SQLiteError) -> (destinations: [AppStoreStoreFigures.Destination], kept: Int) {
        var names: [(number: Int64, name: String, isActive: Bool)] = []
        try self.database.prepare("SELECT number, name, active FROM destinations ORDER BY number").run { row in
            names.append((row.integer(0), String(decoding: row.blob(1), as: UTF8.self), row.integer(2) == 1))
        }
        let count = try self.database.prepare(
            """
            SELECT count(*), min(number) FROM (
                SELECT number FROM deliveries WHERE destination = ? AND state = ? LIMIT \(AppStoreStoreFigures.countLimit)
            )
            """
        )
        let received = try self.database.prepare("SELECT received FROM notifications WHERE number = ?")
        var destinations: [AppStoreStoreFigures.Destination] = []
        for (number, name, isActive) in names {
            var waiting: (count: Int, oldest: Int64) = (0, 0)
            try count.run([.integer(number), .integer(0)]) { row in waiting = (Int(row.integer(0)), row.integer(1)) }
            var dead = 0
            try count.run([.integer(number), .integer(2)]) { row in dead = Int(row.integer(0)) }
            var oldest: Int64?
            if waiting.count > 0 {
                try received.run([.integer(waiting.oldest)]) { row in oldest = row.integer(0) }
            }
            destinations.append(
                .init(name: name, isActive: isActive, waiting: waiting.count, dead: dead, oldest: oldest)
            )
        }
        var first: Int64 = 0
        try self.database.prepare("SELECT min(number) FROM notifications").run { row in first = row.integer(0) }
        return (destinations, first == 0 ? 0 : Int(self.last) - Int(first) + 1)
    }

    /// Writes without a change, to see whether the store can be written.
    func tryWriting() throws(SQLiteError) {
        try self.database.transaction { () throws(SQLiteError) in
            try self.database.execute("UPDATE sqlite_sequence SET seq = seq; UPDATE destinations SET post = post")
        }
    }
}
