internal import FerryCore
internal import FerryPlatform
internal import FerrySQLite

/// The file of an ``AppStoreStore``.
///
/// Each waiting delivery has a due time. Of one customer's waiting deliveries to a destination, only the delivery
/// with the earliest signature can be due. The other deliveries are blocked until that delivery has ended.
///
/// The class is not `Sendable`: the store's thread uses it.
final class StoreFile {
    /// A destination that gets each notification.
    struct Destination: Sendable {
        var name: String
        /// Whether the destination needs Apple's signed posts, and not only the plain JSON.
        var needsPost: Bool
    }

    /// A notification to store.
    struct Entry: Sendable {
        var notification: AppStoreNotification
        var post: [UInt8]
        var origin: StoredNotification.Origin
        /// The arrival, in milliseconds since 1970.
        var received: Int64
    }

    /// The end of an attempt to deliver.
    struct Attempt: Sendable {
        enum Result: Sendable {
            case delivered
            /// The next attempt is due `at`, in milliseconds since 1970. Without a reason, the task of
            /// ``AppStoreStore/run()`` was cancelled during the attempt.
            case again(at: Int64, because: String?)
            case dead(because: String)
        }

        var destination: Int64
        var number: UInt64
        var result: Result
    }

    /// The due time of a blocked delivery, later than any clock.
    static let never = Int64.max
    private static let version: Int64 = 1
    static let delivered = StoredNotification.Delivery.State.delivered.rawValue

    let database: SQLiteDatabase
    private let mark: HighWaterMark
    private(set) var last: UInt64
    let statements: Statements
    private let failures: DeliveryFailures
    /// The number of each destination that gets notifications, by its name.
    let destinations: [String: Int64]
    /// Whether at least one destination needs Apple's signed posts. If not, posts are not kept, because they take
    /// more room than everything else.
    private let keepsPosts: Bool

    /// The longest time from now to a due time, in milliseconds. A later due time, apart from ``never``, was written
    /// while the clock was wrong.
    private static let horizon = DeliveryBackOff.longest.components.seconds * 1000 + 60_000

    struct Statements {
        var insert: SQLiteStatement
        var find: SQLiteStatement
        var addDelivery: SQLiteStatement
        var head: SQLiteStatement
        var setDue: SQLiteStatement
        var end: SQLiteStatement
        var again: SQLiteStatement
        var delivery: SQLiteStatement
        var isFar: SQLiteStatement
        var bringNear: SQLiteStatement
        var due: SQLiteStatement
        var nextDue: SQLiteStatement
        var newestDelivered: SQLiteStatement
    }

    /// Opens the file, or makes it.
    ///
    /// - Parameter destinations: the destinations that get later notifications. If nil, the destinations of the last
    ///   opening stay.
    /// - Returns: the file, and in `warning` a sentence about something unusual; nil if nothing unusual was found.
    static func open(
        path: String,
        durability: SQLiteDatabase.Durability,
        destinations: [Destination]?
    ) throws(AppStoreStoreError) -> (file: StoreFile, warning: String?) {
        do {
            let file = try StoreFile(path: path, durability: durability, destinations: destinations)
            let finding = try file.mark.check(last: file.last, of: path)
            guard finding == .isNew, file.last > 0 else { return (file, try file.unsentWarning()) }
            return (
                file,
                "The store's mark \(HighWaterMark.path(of: path)) was missing, and is made anew. If the store has lost its last "
                    + "commits, this start cannot see it."
            )
        } catch let error as SQLiteError {
            throw AppStoreStoreError("The store cannot be used.", error)
        } catch {
            throw AppStoreStoreError(
                .damaged,
                "\(error) What is missing then comes back with `ferry appstore recover`."
            )
        }
    }

    private func unsentWarning() throws(SQLiteError) -> String? {
        guard try self.hasUnsent() else { return nil }
        return """
            Some notifications are delivered to nobody: their URL is not named any more, or none was named when they came. \
            'ferry appstore redeliver --unsent' delivers them to the URLs of now.
            """
    }

    /// - Throws: `SQLiteError`, or the fault of the mark.
    private init(path: String, durability: SQLiteDatabase.Durability, destinations: [Destination]?) throws {
        self.database = try SQLiteDatabase(path: path, durability: durability)
        try Self.migrate(self.database)
        try Self.makeCertificates(self.database)
        var last: UInt64 = 0
        try self.database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'notifications'").run { row in
            last = UInt64(bitPattern: row.integer(0))
        }
        self.last = last
        if let destinations { try Self.set(destinations, self.database) }
        var keepsPosts = false
        var numbers: [String: Int64] = [:]
        try self.database.prepare("SELECT number, name, post FROM destinations WHERE active = 1").run { row in
            numbers[String(decoding: row.blob(1), as: UTF8.self)] = row.integer(0)
            keepsPosts = keepsPosts || row.integer(2) == 1
        }
        self.destinations = numbers
        self.keepsPosts = keepsPosts
        self.statements = try Self.prepare(self.database)
        self.failures = try DeliveryFailures(self.database)
        self.mark = try HighWaterMark(of: path)
    }

    private static func migrate(_ database: SQLiteDatabase) throws(SQLiteError) {
        try database.make(version: Self.version) { _ throws(SQLiteError) in
            try database.execute(
                """
                CREATE TABLE notifications (
                    number INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB NOT NULL UNIQUE, type BLOB NOT NULL,
                    subtype BLOB NOT NULL, version INTEGER NOT NULL, environment BLOB NOT NULL, bundle BLOB NOT NULL,
                    app INTEGER NOT NULL, customer BLOB NOT NULL, signed INTEGER NOT NULL, received INTEGER NOT NULL,
                    origin INTEGER NOT NULL, json BLOB NOT NULL, post BLOB NOT NULL
                );
                CREATE INDEX notifications_received ON notifications (received);
                CREATE TABLE destinations (
                    number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, active INTEGER NOT NULL, post INTEGER NOT NULL
                );
                CREATE TABLE deliveries (
                    destination INTEGER NOT NULL, number INTEGER NOT NULL, state INTEGER NOT NULL,
                    attempts INTEGER NOT NULL, due INTEGER NOT NULL, customer BLOB NOT NULL, signed INTEGER NOT NULL,
                    since INTEGER NOT NULL, PRIMARY KEY (destination, number)
                ) WITHOUT ROWID;
                CREATE INDEX deliveries_due ON deliveries (destination, state, due);
                CREATE INDEX deliveries_customer ON deliveries (destination, customer, state, signed, number);
                CREATE INDEX deliveries_number ON deliveries (number);
                """
            )
        }
    }

    private static func set(_ destinations: [Destination], _ database: SQLiteDatabase) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            try database.execute("UPDATE destinations SET active = 0")
            let insert = try database.prepare(
                """
                INSERT INTO destinations (name, active, post) VALUES (?, 1, ?)
                ON CONFLICT (name) DO UPDATE SET active = 1, post = excluded.post
                """
            )
            for destination in destinations {
                try insert.run([.blob(Array(destination.name.utf8)), .integer(destination.needsPost ? 1 : 0)])
            }
        }
    }

    private static func prepare(_ database: SQLiteDatabase) throws(SQLiteError) -> Statements {
        Statements(
            insert: try database.prepare(
                """
                INSERT INTO notifications (uuid, type, subtype, version, environment, bundle, app, customer,
                    signed, received, origin, json, post) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
            ),
            find: try database.prepare("SELECT number FROM notifications WHERE uuid = ?"),
            addDelivery: try database.prepare("INSERT OR REPLACE INTO deliveries VALUES (?, ?, 0, 0, ?, ?, ?, ?)"),
            head: try database.prepare(
                """
                SELECT number, signed, due FROM deliveries WHERE destination = ? AND customer = ? AND state = 0
                ORDER BY signed, number LIMIT 1
                """
            ),
            setDue: try database.prepare("UPDATE deliveries SET due = ? WHERE destination = ? AND number = ?"),
            end: try database.prepare(
                "UPDATE deliveries SET state = ?, attempts = attempts + 1, due = 0 WHERE destination = ? AND number = ?"
            ),
            again: try database.prepare(
                """
                UPDATE deliveries SET since = CASE attempts WHEN 0 THEN ? ELSE since END, attempts = attempts + 1, due = ?
                WHERE destination = ? AND number = ?
                """
            ),
            delivery: try database.prepare(
                "SELECT customer, signed FROM deliveries WHERE destination = ? AND number = ?"
            ),
            isFar: try database.prepare(
                "SELECT 1 FROM deliveries WHERE destination = ? AND state = 0 AND due > ? AND due < ? LIMIT 1"
            ),
            bringNear: try database.prepare(
                "UPDATE deliveries SET due = ?, since = min(since, ?) WHERE destination = ? AND state = 0 AND due > ? AND due < ?"
            ),
            due: try database.prepare(
                """
                SELECT d.number, d.attempts, n.uuid, n.type, n.subtype, n.version, n.environment, n.bundle, n.app,
                    n.customer, n.signed, n.json, d.since, n.post
                FROM deliveries d JOIN notifications n ON n.number = d.number
                WHERE d.destination = ? AND d.state = 0 AND d.due <= ? ORDER BY d.due, d.number LIMIT ?
                """
            ),
            nextDue: try database.prepare(
                "SELECT min(due) FROM deliveries WHERE destination = ? AND state = 0 AND due > ?"
            ),
            newestDelivered: try database.prepare(
                """
                SELECT max(signed) FROM deliveries WHERE destination = ? AND customer = ? AND state = 1
                """
            )
        )
    }

    // MARK: Taking

    /// Stores the entries as one transaction.
    ///
    /// - Returns: for each entry, whether it is new.
    func take(_ entries: [Entry]) throws(SQLiteError) -> [Bool] {
        var areNew: [Bool] = []
        let last = self.last
        do {
            try self.database.transaction { () throws(SQLiteError) in
                for entry in entries { areNew.append(try self.take(entry)) }
            }
        } catch {
            // `last` goes back, because nothing was stored. Otherwise the mark would be ahead of the file. The next
            // start would take that for a loss of commits.
            self.last = last
            throw error
        }
        return areNew
    }

    private func take(_ entry: Entry) throws(SQLiteError) -> Bool {
        let notification = entry.notification
        func text(_ text: String?) -> SQLiteValue { .blob(Array((text ?? "").utf8)) }
        let signed = notification.signedDate?.milliseconds ?? 0
        var isKnown = false
        try self.statements.find.run([text(notification.uuid)]) { _ in isKnown = true }
        guard !isKnown else { return false }
        try self.statements.insert.run([
            text(notification.uuid), text(notification.type.rawValue), text(notification.subtype),
            .integer(Int64(notification.version.rawValue)), text(notification.environment.rawValue),
            text(notification.bundleID), .integer(notification.appAppleID ?? 0), text(notification.customer),
            .integer(signed), .integer(entry.received), .integer(Int64(entry.origin.rawValue)),
            .blob(notification.json), .blob(self.keepsPosts ? Self.signedPart(entry) : []),
        ])
        guard self.database.changeCount == 1 else { return false }
        try self.statements.find.run([text(notification.uuid)]) { row in self.last = UInt64(bitPattern: row.integer(0))
        }
        for destination in self.destinations.values {
            try self.addDelivery(
                destination,
                self.last,
                customer: Array((notification.customer ?? "").utf8),
                signed: signed,
                now: entry.received
            )
        }
        return true
    }

    /// Returns a post of version 2 without the members that Apple did not sign, because anybody between Apple and the
    /// receiver could have added them. A post of version 1 stays whole.
    private static func signedPart(_ entry: Entry) -> [UInt8] {
        guard entry.notification.version == .two, let post = JSONObject(entry.post), post.members.count > 1,
            let payload = post.string("signedPayload")
        else { return entry.post }
        return JSONText.object([("signedPayload", JSONText.quoted(payload))])
    }

    /// Whether the path still leads to the file. If it does not, stored notifications are lost when the process ends.
    var isInPlace: Bool { self.database.isInPlace }

    /// Writes ``last`` to the mark. Call it after the commit, and before the notifications up to ``last`` are
    /// acknowledged.
    func advanceMark() throws(HighWaterMark.Fault) { try self.mark.advance(to: self.last) }

    // MARK: Delivering

    func number(ofDestination name: String) -> Int64? { self.destinations[name] }

    /// Returns at most `limit` deliveries that are due, and the next due time after `now`. This time is nil if no
    /// delivery is due later. Times are milliseconds since 1970. Running deliveries are included.
    func due(
        _ destination: Int64,
        now: Int64,
        limit: Int
    ) throws(SQLiteError) -> (deliveries: [AppStoreDelivery], next: Int64?) {
        try self.bringNear(destination, now)
        var found: [(AppStoreNotification, number: UInt64, attempts: Int, since: Int64, post: [UInt8])] = []
        try self.statements.due.run([.integer(destination), .integer(now), .integer(Int64(limit))]) { row in
            let notification = Self.notification(row, from: 2)
            found.append(
                (notification, UInt64(bitPattern: row.integer(0)), Int(row.integer(1)), row.integer(12), row.blob(13))
            )
        }
        var deliveries: [AppStoreDelivery] = []
        for (notification, number, attempts, since, post) in found {
            var newest: Int64 = 0
            if let customer = notification.customer {
                try self.statements.newestDelivered.run([
                    .integer(destination), .blob(Array(customer.utf8)),
                ]) { row in newest = row.integer(0) }
            }
            deliveries.append(
                AppStoreDelivery(
                    notification: notification,
                    attempt: attempts + 1,
                    isStale: newest > (notification.signedDate?.milliseconds ?? 0),
                    post: post,
                    number: number,
                    failing: attempts == 0 ? .zero : .milliseconds(max(0, now - since))
                )
            )
        }
        var next: Int64?
        try self.statements.nextDue.run([.integer(destination), .integer(now)]) { row in next = row.integer(0) }
        // Without a row, `min` returns NULL, which reads as 0.
        if next == 0 || next == Self.never { next = nil }
        return (deliveries, next)
    }

    /// Makes deliveries due now if their due time is beyond ``horizon``. Such a time was written before the clock was
    /// set back. Blocked deliveries stay blocked.
    private func bringNear(_ destination: Int64, _ now: Int64) throws(SQLiteError) {
        let far = [SQLiteValue.integer(now + Self.horizon), .integer(Self.never)]
        var isFar = false
        try self.statements.isFar.run([.integer(destination)] + far) { _ in isFar = true }
        guard isFar else { return }
        try self.statements.bringNear.run([.integer(now), .integer(now), .integer(destination)] + far)
    }

    /// Reads a notification from the columns from `start` on: uuid, type, subtype, version, environment, bundle, app,
    /// customer, signed, json.
    static func notification(_ row: borrowing SQLiteRow, from start: Int32) -> AppStoreNotification {
        func text(_ column: Int32, _ row: borrowing SQLiteRow) -> String {
            String(decoding: row.blob(column), as: UTF8.self)
        }
        let (subtype, customer) = (text(start + 2, row), text(start + 7, row))
        let (app, signed) = (row.integer(start + 6), row.integer(start + 8))
        return AppStoreNotification(
            uuid: text(start, row),
            type: AppStoreNotificationType(rawValue: text(start + 1, row)),
            subtype: subtype.isEmpty ? nil : subtype,
            version: AppStoreNotification.Version(rawValue: Int(row.integer(start + 3))) ?? .two,
            signedDate: signed == 0 ? nil : Date(milliseconds: signed),
            environment: AppStoreEnvironment(rawValue: text(start + 4, row)),
            bundleID: text(start + 5, row),
            appAppleID: app == 0 ? nil : app,
            customer: customer.isEmpty ? nil : customer,
            json: row.blob(start + 9)
        )
    }

    /// Notes the ends of attempts as one transaction.
    func settle(_ attempts: [Attempt], now: Int64) throws(SQLiteError) {
        try self.database.transaction { () throws(SQLiteError) in
            for attempt in attempts { try self.settle(attempt, now: now) }
        }
    }

    private func settle(_ attempt: Attempt, now: Int64) throws(SQLiteError) {
        let place = [SQLiteValue.integer(attempt.destination), .integer(Int64(bitPattern: attempt.number))]
        switch attempt.result {
        case .delivered: try self.statements.end.run([.integer(1)] + place)
        case .dead: try self.statements.end.run([.integer(2)] + place)
        case .again(let due, _): try self.statements.again.run([.integer(now), .integer(due)] + place)
        }
        try self.failures.note(attempt.result, at: place)
        var customer: [UInt8] = []
        try self.statements.delivery.run(place) { row in customer = row.blob(0) }
        guard !customer.isEmpty else { return }
        try self.unblock(attempt.destination, customer, now: now, attempted: attempt)
    }
}
