internal import FerrySQLite

extension StoreFile {
    /// Starts ended deliveries to present destinations again: those of one notification, or, if `uuid` is nil, those
    /// that were set aside. At most `limit` deliveries are changed.
    ///
    /// - Returns: the number of deliveries.
    func redeliver(_ uuid: String?, now: Int64, limit: Int) throws(SQLiteError) -> Int {
        var places: [(destination: Int64, number: UInt64, customer: [UInt8], signed: Int64)] = []
        let condition = uuid == nil ? "d.state = 2" : "d.number = (SELECT number FROM notifications WHERE uuid = ?)"
        let values = uuid.map { [SQLiteValue.blob(Array($0.utf8))] } ?? []
        return try self.database.transaction { () throws(SQLiteError) in
            try self.database.prepare(
                """
                SELECT d.destination, d.number, d.customer, d.signed
                FROM destinations t CROSS JOIN deliveries d ON d.destination = t.number
                WHERE d.state <> 0 AND t.active = 1 AND \(condition) LIMIT ?
                """
            ).run(values + [.integer(Int64(limit))]) { row in
                places.append((row.integer(0), UInt64(bitPattern: row.integer(1)), row.blob(2), row.integer(3)))
            }
            for place in places {
                try self.addDelivery(
                    place.destination,
                    place.number,
                    customer: place.customer,
                    signed: place.signed,
                    now: now
                )
            }
            return places.count
        }
    }

    /// The condition that a notification was never delivered, and has no delivery to a present destination. Either
    /// its destinations are missing in this process, or no destination was configured when the notification came.
    private static let isUnsent = """
        NOT EXISTS (
            SELECT 1 FROM deliveries d JOIN destinations t ON t.number = d.destination
            WHERE d.number = n.number AND (t.active = 1 OR d.state = \(StoreFile.delivered))
        )
        """
    /// The number of latest notifications among which ``hasUnsent()`` looks for notifications without a destination.
    private static let glance = 1000

    /// Whether the store has a notification for which ``isUnsent`` is true. Only two groups are searched:
    /// notifications that wait for an inactive destination, and the latest ``glance`` notifications. Returns false if
    /// no destination is configured.
    func hasUnsent() throws(SQLiteError) -> Bool {
        guard !self.destinations.isEmpty else { return false }
        var isFound = false
        for numbers in [
            """
            SELECT w.number FROM destinations gone CROSS JOIN deliveries w ON w.destination = gone.number
            WHERE gone.active = 0 AND w.state = 0
            """,
            "SELECT number FROM (SELECT number FROM notifications ORDER BY number DESC LIMIT \(Self.glance))",
        ] where !isFound {
            try self.database.prepare("SELECT 1 FROM (\(numbers)) n WHERE \(Self.isUnsent) LIMIT 1").run { _ in
                isFound = true
            }
        }
        return isFound
    }

    /// Starts deliveries to the present destinations for each notification for which ``isUnsent`` is true. Removes
    /// the waiting deliveries of such a notification to missing destinations.
    ///
    /// - Parameter numbers: the range that is searched. A search of the whole store would keep new notifications
    ///   waiting.
    /// - Returns: the number of notifications that get deliveries.
    func deliverUnsent(among numbers: ClosedRange<UInt64>, now: Int64) throws(SQLiteError) -> Int {
        guard !self.destinations.isEmpty else { return 0 }
        var unsent: [(number: UInt64, customer: [UInt8], signed: Int64)] = []
        return try self.database.transaction { () throws(SQLiteError) in
            try self.database.prepare(
                """
                SELECT n.number, n.customer, n.signed FROM notifications n
                WHERE n.number BETWEEN ? AND ? AND \(Self.isUnsent) ORDER BY n.number
                """
            ).run([.integer(Int64(clamping: numbers.lowerBound)), .integer(Int64(clamping: numbers.upperBound))]) {
                row in
                unsent.append((UInt64(bitPattern: row.integer(0)), row.blob(1), row.integer(2)))
            }
            let waiting = try self.database.prepare("SELECT destination FROM deliveries WHERE number = ? AND state = 0")
            let forget = try self.database.prepare("DELETE FROM deliveries WHERE number = ? AND state = 0")
            for (number, customer, signed) in unsent {
                let row = SQLiteValue.integer(Int64(bitPattern: number))
                var gone: [Int64] = []
                try waiting.run([row]) { gone.append($0.integer(0)) }
                try forget.run([row])
                for destination in gone where !customer.isEmpty {
                    try self.unblock(destination, customer, now: now, attempted: nil)
                }
                for destination in self.destinations.values {
                    try self.addDelivery(destination, number, customer: customer, signed: signed, now: now)
                }
            }
            return unsent.count
        }
    }

    /// Removes notifications that came before `time` (milliseconds since 1970) and wait for no delivery. Returns
    /// their number, at most `limit`.
    func removeOld(before time: Int64, limit: Int) throws(SQLiteError) -> Int {
        var numbers: [Int64] = []
        try self.database.prepare(
            """
            SELECT number FROM notifications n WHERE received < ?
            AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.number = n.number AND d.state = 0) LIMIT ?
            """
        ).run([.integer(time), .integer(Int64(limit))]) { row in numbers.append(row.integer(0)) }
        guard !numbers.isEmpty else { return 0 }
        try self.database.transaction { () throws(SQLiteError) in
            let deliveries = try self.database.prepare("DELETE FROM deliveries WHERE number = ?")
            let failures = try self.database.prepare("DELETE FROM failures WHERE number = ?")
            let notifications = try self.database.prepare("DELETE FROM notifications WHERE number = ?")
            for number in numbers {
                try deliveries.run([.integer(number)])
                try failures.run([.integer(number)])
                try notifications.run([.integer(number)])
            }
        }
        return numbers.count
    }
}
