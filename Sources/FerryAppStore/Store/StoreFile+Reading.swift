internal import FerryPlatform
internal import FerrySQLite

extension StoreFile {
    /// Returns notifications, the newest first.
    ///
    /// - Parameters:
    ///   - before: selects notifications with a lower number; nil for all numbers.
    ///   - state: selects notifications that have at least one delivery in this state; nil for all notifications.
    func list(
        limit: Int,
        before: UInt64?,
        state: StoredNotification.Delivery.State?
    ) throws(SQLiteError) -> [StoredNotification] {
        // Few of millions of notifications are waiting or dead, so an index finds them. Most notifications are
        // delivered, so a scan from the newest soon finds enough of them.
        let condition =
            switch state {
            case nil: ""
            case .delivered:
                "AND EXISTS (SELECT 1 FROM deliveries d WHERE d.number = n.number AND d.state = \(Self.delivered))"
            case .some(let state):
                """
                AND n.number IN (
                    SELECT d.number FROM destinations t CROSS JOIN deliveries d ON d.destination = t.number
                    WHERE d.state = \(state.rawValue)
                )
                """
            }
        return try self.read(
            "WHERE n.number < ? \(condition) ORDER BY n.number DESC LIMIT ?",
            json: "x''",
            [.integer(before.map { Int64(clamping: $0) } ?? .max), .integer(Int64(limit))]
        )
    }

    func find(_ uuid: String) throws(SQLiteError) -> StoredNotification? {
        try self.read("WHERE n.uuid = ?", json: "n.json", [.blob(Array(uuid.utf8))]).first
    }

    /// Reads the rows of a query.
    ///
    /// - Parameter json: the column of the content, or an empty blob. A list uses the empty blob, because thousands of
    ///   contents need much memory.
    private func read(
        _ condition: String,
        json: String,
        _ values: [SQLiteValue]
    ) throws(SQLiteError) -> [StoredNotification] {
        var rows: [(UInt64, AppStoreNotification, received: Int64, origin: Int64)] = []
        try self.database.prepare(
            """
            SELECT n.number, n.uuid, n.type, n.subtype, n.version, n.environment, n.bundle, n.app, n.customer, n.signed,
                \(json), n.received, n.origin FROM notifications n \(condition)
            """
        ).run(values) { row in
            rows.append(
                (UInt64(bitPattern: row.integer(0)), Self.notification(row, from: 1), row.integer(11), row.integer(12))
            )
        }
        let deliveries = try self.database.prepare(
            """
            SELECT t.name, d.state, d.attempts, f.reason FROM deliveries d
            JOIN destinations t ON t.number = d.destination
            LEFT JOIN failures f ON f.destination = d.destination AND f.number = d.number
            WHERE d.number = ? ORDER BY d.destination
            """
        )
        var result: [StoredNotification] = []
        for (number, notification, received, origin) in rows {
            var list: [StoredNotification.Delivery] = []
            try deliveries.run([.integer(Int64(bitPattern: number))]) { row in
                let reason = String(decoding: row.blob(3), as: UTF8.self)
                list.append(
                    StoredNotification.Delivery(
                        destination: String(decoding: row.blob(0), as: UTF8.self),
                        state: StoredNotification.Delivery.State(rawValue: Int(row.integer(1))) ?? .dead,
                        attempts: Int(row.integer(2)),
                        failure: reason.isEmpty ? nil : reason
                    )
                )
            }
            result.append(
                StoredNotification(
                    number: number,
                    notification: notification,
                    received: Date(milliseconds: received),
                    origin: StoredNotification.Origin(rawValue: Int(origin)) ?? .post,
                    deliveries: list
                )
            )
        }
        return result
    }
}
