import FerryPostgres
import FerryPostgresTestSupport
import Testing

@Suite(.enabled(if: PostgresServer.isAvailable), .timeLimit(.minutes(1)))
struct PostgresSetupTests {
    private let server: PostgresServer
    private let database: String
    private let setup: PostgresSetup

    init() throws {
        self.server = try #require(PostgresServer.shared)
        self.database = try self.server.database()
        self.setup = PostgresSetup(self.server.connection(to: self.database))
    }

    /// Takes shard 1 under its present term.
    private static let take = PostgresStatement(
        "select t.* from ferry.shard, ferry.take(1, 'gw1', term) t where id = 1"
    )

    @Test func `An empty database gets tables and shards`() async throws {
        #expect(try await self.setup.condition() == .empty)
        #expect(try await self.setup.make(shards: 8) == 0)
        #expect(try await self.setup.condition() == .good(shards: 8))
        #expect(
            try self.server.query("select count(distinct node), min(id), max(id) from ferry.shard", in: self.database)
                == "8|0|7"
        )
        #expect(try self.server.query("select length(hash_key) from ferry.meta", in: self.database) == "16")
    }

    @Test func `Shards may be added, and not taken away`() async throws {
        _ = try await self.setup.make(shards: 2)
        let nodes = try self.server.query(
            "select string_agg(node::text, ',' order by id) from ferry.shard",
            in: self.database
        )
        #expect(try await self.setup.make(shards: 4) == 2)
        #expect(
            try self.server.query(
                "select string_agg(node::text, ',' order by id) from ferry.shard where id < 2",
                in: self.database
            )
                == nodes
        )
        let error = await #expect(throws: PostgresError.self) { _ = try await self.setup.make(shards: 3) }
        #expect(error?.description.contains("4 shards") == true)
        #expect(try await self.setup.condition() == .good(shards: 4))
    }

    @Test func `No shard is added while a gateway owns one`() async throws {
        _ = try await self.setup.make(shards: 2)
        let owner = PostgresSession(PostgresSettings(self.server.connection(to: self.database), name: "owner"))
        _ = try await owner.send(Self.take, within: .seconds(10))
        let error = await #expect(throws: PostgresError.self) { _ = try await self.setup.make(shards: 4) }
        #expect(error?.description.contains("stop all gateways") == true)
        owner.close()
    }

    @Test func `A later version is not touched`() async throws {
        _ = try await self.setup.make(shards: 1)
        try self.server.query("update ferry.meta set version = 99", in: self.database)
        #expect(try await self.setup.condition() == .version(99))
        let error = await #expect(throws: PostgresError.self) { _ = try await self.setup.make(shards: 2) }
        #expect(error?.description.contains("install a later version") == true)
    }

    @Test func `Two calls at once make the tables once`() async throws {
        let other = PostgresSetup(self.server.connection(to: self.database))
        async let first = self.setup.make(shards: 4)
        async let second = other.make(shards: 4)
        let counts = try await [first, second].sorted()
        #expect(counts == [0, 4])
    }

    @Test func `The shards are shown with their owners`() async throws {
        _ = try await self.setup.make(shards: 2)
        let owner = PostgresSession(
            PostgresSettings(self.server.connection(to: self.database), name: "ferry gw1 shard 1")
        )
        _ = try await owner.send(Self.take, within: .seconds(10))
        try self.server.query("insert into ferry.segment values (1, 5, '\\x0102')", in: self.database)
        let shards = try await self.setup.shards()
        #expect(
            shards == [
                PostgresShard(shard: 0, owner: "", isOwned: false, segments: 0, segmentBytes: 0, lateSegments: 0),
                PostgresShard(shard: 1, owner: "gw1", isOwned: true, segments: 1, segmentBytes: 2, lateSegments: 0),
            ]
        )
        owner.close()
    }

    @Test func `The gap between two epochs is random, and becomes small before the epochs are used up`() async throws {
        _ = try await self.setup.make(shards: 2)
        let owner = PostgresSession(PostgresSettings(self.server.connection(to: self.database), name: "owner"))
        var gaps: Set<Int64> = []
        for epoch in [Int64](repeating: 0, count: 40) + [4_161_537, 4_194_302] {
            try self.server.query("update ferry.shard set epoch = \(epoch) where id = 1", in: self.database)
            let taken = try await owner.send(Self.take, within: .seconds(10))
            let gap = try #require(taken.integer(0, 0)) - epoch
            if epoch == 0 { gaps.insert(gap) } else { #expect(gap == 1) }
        }
        #expect(gaps.count > 20 && gaps.allSatisfy { (1...256).contains($0) })
        owner.close()
    }

    @Test func `A shard moves to a gateway that is connected`() async throws {
        _ = try await self.setup.make(shards: 1)
        let error = await #expect(throws: PostgresError.self) { try await self.setup.move(0, to: "gw2") }
        #expect(error?.description.contains("No gateway with the name gw2") == true)
        let other = PostgresSession(PostgresSettings(self.server.connection(to: self.database), name: "ferry gw2"))
        _ = try await other.send(PostgresStatement("select 1"), within: .seconds(10))
        try await self.setup.move(0, to: "gw2")
        #expect(try await self.setup.shards().map(\.wanted) == ["gw2"])
        let absent = await #expect(throws: PostgresError.self) { try await self.setup.move(7, to: "gw2") }
        #expect(absent?.description == "There is no shard 7.")
        other.close()
    }

    @Test func `A shard moves to its last owner if nobody has it`() async throws {
        _ = try await self.setup.make(shards: 2)
        let gateway = PostgresSession(PostgresSettings(self.server.connection(to: self.database), name: "ferry gw1"))
        _ = try await gateway.send(Self.take, within: .seconds(10))
        let error = await #expect(throws: PostgresError.self) { try await self.setup.move(1, to: "gw1") }
        #expect(error?.description == "gw1 has shard 1 already.")
        let unlock = PostgresStatement("select pg_advisory_unlock(1179800153, 1)")
        _ = try await gateway.send(unlock, within: .seconds(10))
        try await self.setup.move(1, to: "gw1")
        #expect(try await self.setup.shards()[1].wanted == "gw1")
        gateway.close()
    }

    @Test func `No shard moves to the session of a command`() async throws {
        _ = try await self.setup.make(shards: 1)
        await #expect(throws: PostgresError.self) { try await self.setup.move(0, to: "store") }
    }

    @Test func `A user that may not change a table is refused with the table's name`() async throws {
        _ = try await self.setup.make(shards: 1)
        let reader = "reader_\(self.database)"
        try self.server.query(
            """
            create role \(reader) login; grant usage on schema ferry to \(reader);
            grant select, insert, update, delete on all tables in schema ferry to \(reader);
            revoke delete on ferry.segment from \(reader); revoke insert on ferry.outcome from \(reader)
            """,
            in: self.database
        )
        let connection = self.server.connection(to: self.database).replacing("user=ferry", with: "user=\(reader)")
        let setup = PostgresSetup(connection)
        let error = await #expect(throws: PostgresError.self) {
            _ = try await setup.check(PostgresRights.allCases)
        }
        #expect(error?.description.contains("\"\(reader)\"") == true, "\(String(describing: error))")
        #expect(error?.description.contains(": outcome, segment.") == true, "\(String(describing: error))")
        #expect(try await setup.known() == 1)
        try self.server.query(
            "grant delete on ferry.segment to \(reader); create table ferry.copy as select * from ferry.push",
            in: self.database
        )
        // A gateway needs no right for the queue, and none for the tables of others.
        #expect(try await setup.check([.gateway]) == 1)
        setup.close()
        try self.server.query("drop owned by \(reader); drop role \(reader)", in: self.database)
    }
}
