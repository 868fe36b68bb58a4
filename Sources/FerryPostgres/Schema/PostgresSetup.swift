internal import FerryPlatform

/// Makes and checks the schema in a database.
///
/// Any thread may call the methods. All calls share one session, so no method may be called while ``make(shards:)``
/// runs. A statement that takes longer than a minute ends the session, and fails.
package struct PostgresSetup: Sendable {
    private static let limit = Duration.seconds(60)

    private let session: PostgresSession

    /// - Parameter connection: a connection string of libpq.
    package init(_ connection: String) { self.init(PostgresSettings(connection, name: "ferry store")) }

    /// Begins a session with these settings. If the settings are wrong, the first call throws.
    package init(_ settings: PostgresSettings) { self.session = PostgresSession(settings) }

    /// The state of a database.
    package enum Condition: Hashable, Sendable {
        /// The database has no tables of Ferry, or their version is missing.
        case empty
        /// The schema has a version that this build can use.
        case good(shards: Int)
        case version(Int)

        /// A sentence for an operator; nil if the schema can be used.
        package var fault: String? {
            switch self {
            case .empty: "The database has no tables of Ferry: run ferry store init."
            case .good: nil
            case .version(let found):
                "The tables of Ferry have version \(found), and this build needs \(PostgresSchema.version): "
                    + (found < PostgresSchema.version
                        ? "run ferry store migrate." : "install a later version of Ferry.")
            }
        }
    }

    package func close() { self.session.close() }

    /// Finds the version of the schema, and the number of shards. Throws if Ferry cannot use the server or the
    /// encoding of the database.
    package func condition() async throws(PostgresError) -> Condition {
        try await self.checkServer()
        // `to_regclass` may not see a table that another session has just made.
        let found = try await self.run(
            "select exists (select from pg_tables where schemaname = 'ferry' and tablename = 'shard')"
        )
        guard found.boolean(0, 0) == true else { return .empty }
        let version = try await self.run("select max(version), (select count(*) from ferry.shard) from ferry.meta")
        guard let number = version.integer(0, 0) else { return .empty }
        guard PostgresSchema.accepts(Int(number)) else { return .version(Int(number)) }
        return .good(shards: Int(version.integer(0, 1) ?? 0))
    }

    /// Checks that the database has tables of a version that this build can use, and returns the number of shards.
    package func known() async throws(PostgresError) -> Int {
        let found = try await self.condition()
        guard case .good(let shards) = found else { throw PostgresError(.unusable, found.fault ?? "") }
        return shards
    }

    /// Checks that these programs can use the database, and returns the number of shards.
    package func check(_ needed: [PostgresRights]) async throws(PostgresError) -> Int {
        let shards = try await self.known()
        // Rights are checked first: a worker that may not write outcomes would send the same rows at each start.
        let rights = needed.flatMap(\.pairs)
        let closed = try await self.run(
            """
            select string_agg(distinct n.name, ', '), current_user::text from unnest($1::text[], $2::text[]) n(name, access)
              where not coalesce(has_table_privilege(to_regclass('ferry.' || n.name), n.access), false)
            """,
            [.texts(rights.map(\.table)), .texts(rights.map(\.right))]
        )
        if let tables = closed.text(0, 0), let user = closed.text(0, 1) {
            throw PostgresError(
                .unusable,
                "The user \"\(user)\" may not read and change these tables of Ferry: \(tables). Name the user that owns them."
            )
        }
        return shards
    }

    /// Makes the schema with its shards, or adds shards to a schema that has fewer.
    ///
    /// - Throws: ``PostgresError`` with a sentence, also when the schema has more shards, or when shards are to be
    ///   added and a gateway owns a shard.
    /// - Returns: the number of shards before; 0 if the schema is new.
    package func make(shards: Int) async throws(PostgresError) -> Int {
        let found = try await self.condition()
        if let fault = found.fault, found != .empty { throw PostgresError(.unusable, fault) }
        try await self.run("begin")
        do throws(PostgresError) {
            // Two calls at once must not both make the tables. The lock has the class of the shards' locks, and the
            // number -1, which no shard has.
            try await self.run("select pg_advisory_xact_lock(1179800153, -1)")
            let before = try await self.condition()
            var count = 0
            if case .good(let shards) = before { count = shards }
            guard shards >= count else {
                throw PostgresError(
                    .unusable,
                    "The database has \(count) shards. Their number cannot become smaller, because each has clients."
                )
            }
            if before == .empty {
                for statement in PostgresSchema.statements { try await self.run(statement) }
                try await self.run("select ferry.init($1::int)", [.integer(Int64(shards))])
            } else if shards > count {
                guard try await self.owned() == 0 else {
                    throw PostgresError(.unusable, "A gateway owns shards: stop all gateways before you add shards.")
                }
                try await self.run(
                    "select ferry.add($1::int, $2::int)",
                    [.integer(Int64(count)), .integer(Int64(shards))]
                )
            }
            try await self.run("commit")
            return count
        } catch {
            _ = try? await self.run("rollback")
            throw error
        }
    }

    /// The number of shards whose lock is held by a session.
    private func owned() async throws(PostgresError) -> Int64 {
        let rows = try await self.run(
            """
            select count(*) from pg_locks where locktype = 'advisory' and classid = 1179800153 and objid < 65536 and objsubid = 2
              and granted and database = (select oid from pg_database where datname = current_database())
            """
        )
        return rows.integer(0, 0) ?? 0
    }

    /// Checks the version of the server, that the server is no standby, and the encoding of the database.
    private func checkServer() async throws(PostgresError) {
        let rows = try await self.run(
            "select current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('server_encoding')"
        )
        guard let version = rows.integer(0, 0), version >= 140_000 else {
            throw PostgresError(
                .unusable,
                "PostgreSQL is too old: Ferry needs version 14 or later (idle_session_timeout)."
            )
        }
        guard rows.boolean(0, 1) == false else {
            throw PostgresError(
                .unusable,
                "PostgreSQL is read-only, because it is a standby: connect to the primary server."
            )
        }
        let encoding = rows.text(0, 2) ?? ""
        guard encoding == "UTF8" else {
            throw PostgresError(
                .unusable,
                "The database has the encoding \(encoding): make another one with the encoding UTF8."
            )
        }
    }

    @discardableResult
    func run(_ text: StaticString, _ values: [PostgresValue] = []) async throws(PostgresError) -> PostgresRows {
        try await self.session.send(PostgresStatement(text, values), within: Self.limit)
    }
}
