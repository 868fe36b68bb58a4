internal import FerryPostgres
internal import FerryShards
internal import FerryTerminal
internal import NIOCore

/// Ferry's tables in a database that has none. Each run makes them, and removes them at its end.
struct BenchDatabase {
    private static let limit: Duration = .seconds(60)

    /// The connection string of libpq.
    let connection: String
    private let session: PostgresSession

    /// Makes the tables with one shard, and removes them after `body`.
    ///
    /// - Throws: ``CommandFailure`` when the database has tables of Ferry: a run would remove them.
    static func with<Result>(
        _ connection: String,
        _ body: (BenchDatabase) async throws -> Result
    ) async throws -> Result {
        let setup = PostgresSetup(connection)
        defer { setup.close() }
        guard try await setup.condition() == .empty else {
            throw CommandFailure.usage(
                "The database has Ferry's tables, which a run would remove: name another one. If they are left by a run that "
                    + "was interrupted, remove them: drop schema ferry cascade"
            )
        }
        _ = try await setup.make(shards: 1)
        let session = PostgresSession(PostgresSettings(connection, name: "ferry bench"))
        defer { session.close() }
        let database = BenchDatabase(connection: connection, session: session)
        do {
            let result = try await body(database)
            try await database.run("drop schema ferry cascade")
            return result
        } catch {
            _ = try? await database.run("drop schema ferry cascade")
            throw error
        }
    }

    @discardableResult
    func run(_ text: StaticString, _ values: [PostgresValue] = []) async throws(PostgresError) -> PostgresRows {
        try await self.session.send(PostgresStatement(text, values), within: Self.limit)
    }

    /// Returns the store of the shard. `open()` of the store takes the shard. The store runs on `eventLoop`.
    func store(on eventLoop: any EventLoop) async throws -> PostgresStore {
        let term = try await self.run("select term::text from ferry.shard").text(0, 0) ?? ""
        return PostgresStore(
            PostgresStore.Place(connection: self.connection, shard: 0, node: "bench"),
            seen: ShardTerm(term),
            on: eventLoop
        )
    }
}
