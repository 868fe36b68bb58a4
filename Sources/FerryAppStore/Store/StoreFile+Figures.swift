internal import FerrySQLite

/// The counts of the notifications and deliveries in a store, for operators.
package struct AppStoreStoreFigures: Hashable, Sendable {
    package struct Destination: Hashable, Sendable {
        package var name: String
        /// Whether this process delivers to the destination.
        package var isActive: Bool
        /// Deliveries that wait, at most ``AppStoreStoreFigures/countLimit``.
        package var waiting: Int
        /// Deliveries that were set aside, at most ``AppStoreStoreFigures/countLimit``.
        package var dead: Int
        /// The arrival of the oldest notification among the counted waiting deliveries, in milliseconds since 1970;
        /// nil if no delivery waits.
        package var oldest: Int64?
    }

    /// The largest number that is counted. A count of millions would occupy the store's thread, and posts would wait.
    package static let countLimit = 100_000

    package var destinations: [Destination]
    /// The number of notifications in the store: the newest number minus the oldest, plus 1. Removed notifications
    /// between the two are counted, too.
    package var kept: Int
    /// The reason why the last write of notifications or delivery results failed. Nil if no such write failed, or if
    /// a later write succeeded.
    package var trouble: String?
}

extension StoreFile {
    /// Counts the deliveries that wait, and those that were set aside. Cost: up to 200,000 rows of an index are read
    /// for each destination.
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
