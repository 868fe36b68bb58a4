import FerryGateway
import FerryPostgres
import FerryPostgresTestSupport
import NIOCore
import Testing

@testable import FerryShards

/// The reports of several processes, with a real PostgreSQL. A test moves the times in the table, and does not wait.
@Suite(.enabled(if: PostgresServer.isAvailable), .timeLimit(.minutes(2)))
struct PostgresSightingsTests {
    private static let shop = ClientAddress(client: "shop", address: "192.0.2.1")

    /// A process that has reported nothing yet.
    private struct Reporter {
        let sightings: PostgresSightings
        let events = ShardEvents()
        private let database: ShardDatabase

        init(_ database: ShardDatabase, _ node: String) {
            let events = self.events
            self.database = database
            self.sightings = PostgresSightings(connection: database.connection, node: node) { events.append($0) }
        }

        /// Opens a connection of a client, and waits for its report.
        func see(_ client: ClientAddress, in shard: Int) async throws {
            let before = try self.database.query("select clock_timestamp()")
            self.sightings.note(client, in: shard, isOpen: true)
            try await self.database.until {
                // It does nothing before the answer to the report before.
                self.sightings.report(now: .sinceBoot)
                return try self.database.query(
                    "select shard from ferry.seen where client = '\(client.client)' and at > '\(before)'"
                ) == "\(shard)"
            }
            self.sightings.note(client, in: shard, isOpen: false)
        }
    }

    /// Moves the reports and the alarms into the past.
    private static func pass(_ time: String, in database: ShardDatabase) throws {
        try database.query("update ferry.seen set at = at - interval '\(time)', told = told - interval '\(time)'")
    }

    @Test func `A client in two shards is named once a minute, by the process that sees it second`() async throws {
        let database = try await ShardDatabase(shards: 8)
        let (first, second) = (Reporter(database, "gw1"), Reporter(database, "gw2"))
        try await first.see(Self.shop, in: 6)
        try await second.see(Self.shop, in: 1)
        try await database.until { second.events.all == [.misrouted(Self.shop, shards: [1, 6])] }
        #expect(second.sightings.misrouted == 1)
        // Within a minute, no process names it again.
        let third = Reporter(database, "gw3")
        try await third.see(Self.shop, in: 6)
        try Self.pass("61 s", in: database)
        let fourth = Reporter(database, "gw4")
        try await fourth.see(Self.shop, in: 1)
        try await database.until { fourth.events.all == [.misrouted(Self.shop, shards: [1, 6])] }
        #expect(first.events.all.isEmpty && third.events.all.isEmpty)
    }

    @Test func `Another owner of the shard, another client and an old sighting are no alarm`() async throws {
        let database = try await ShardDatabase(shards: 8)
        let (first, second) = (Reporter(database, "gw1"), Reporter(database, "gw2"))
        try await first.see(Self.shop, in: 3)
        try await second.see(Self.shop, in: 3)
        try await first.see(ClientAddress(client: "news", address: Self.shop.address), in: 4)
        try Self.pass("121 s", in: database)
        try await first.see(Self.shop, in: 4)
        // A report is sent after the answer to the one before it.
        try await first.see(ClientAddress(client: "last", address: "192.0.2.9"), in: 0)
        try await second.see(ClientAddress(client: "end", address: "192.0.2.9"), in: 0)
        #expect(first.events.all.isEmpty && second.events.all.isEmpty)
    }

    @Test func `Reports of the same clients in opposite orders do not fail`() async throws {
        let database = try await ShardDatabase(shards: 8)
        let reporters = (0..<4).map { Reporter(database, "gw\($0)") }
        let clients = (0..<Sightings.batch).map { ClientAddress(client: "shop", address: "192.0.2.\($0)") }
        for (shard, reporter) in reporters.enumerated() {
            for client in shard.isMultiple(of: 2) ? clients : clients.reversed() {
                reporter.sightings.note(client, in: shard, isOpen: true)
            }
        }
        let start = NIODeadline.sinceBoot
        for round in 0..<10 as Range<Int64> {
            for reporter in reporters { reporter.sightings.report(now: start + .minutes(round)) }
            try await database.until {
                try database.query(
                    "select count(*) from pg_stat_activity where application_name like '%sightings' and state = 'active'"
                ) == "0"
            }
        }
        // Each client is named once in all.
        try await database.until { reporters.reduce(0) { $0 + $1.sightings.misrouted } == clients.count }
        #expect(try database.query("select count(*) from ferry.seen") == "\(clients.count)")
        for reporter in reporters {
            #expect(!reporter.events.all.contains { if case .trouble = $0 { true } else { false } })
        }
    }

    @Test func `Rows that are older than an hour are removed, a thousand a minute`() async throws {
        let database = try await ShardDatabase(shards: 1)
        try database.query(
            """
            insert into ferry.seen (client, address, shard, at)
              select 'shop', g::text, 0, now() - interval '1 hour' from generate_series(1, 1500) g;
            insert into ferry.seen (client, address, shard, at) values ('shop', 'new', 0, now() - interval '50 min')
            """
        )
        let reporter = Reporter(database, "gw1")
        let start = NIODeadline.sinceBoot
        func count() throws -> String { try database.query("select count(*) from ferry.seen") }
        reporter.sightings.report(now: start)
        reporter.sightings.report(now: start + .minutes(2))
        try await database.until { try count() == "501" }
        var time = start + .minutes(4)
        try await database.until {
            reporter.sightings.report(now: time)
            time = time + .minutes(2)
            return try count() == "1"
        }
    }

    @Test func `A report to a database that is away is lost, and the next one arrives`() async throws {
        let database = try await ShardDatabase(shards: 1)
        try database.server.query("alter database \(database.name) allow_connections false", in: "postgres")
        let reporter = Reporter(database, "gw1")
        reporter.sightings.note(Self.shop, in: 0, isOpen: true)
        var time = NIODeadline.sinceBoot
        reporter.sightings.report(now: time)
        try database.server.query("alter database \(database.name) allow_connections true", in: "postgres")
        try await database.until {
            reporter.sightings.report(now: time)
            time = time + Sightings.interval
            return try database.query("select client, address, shard from ferry.seen") == "shop|192.0.2.1|0"
        }
        #expect(reporter.events.all.isEmpty)
    }

    @Test func `A database that refuses reports is told once`() async throws {
        let database = try await ShardDatabase(shards: 1)
        try database.query("alter table ferry.seen rename to elsewhere")
        let reporter = Reporter(database, "gw1")
        reporter.sightings.note(Self.shop, in: 0, isOpen: true)
        var time = NIODeadline.sinceBoot
        func report() {
            reporter.sightings.report(now: time)
            time = time + Sightings.interval
        }
        try await database.until {
            report()
            return !reporter.events.all.isEmpty
        }
        for _ in 0..<20 { report() }
        try database.query("alter table ferry.elsewhere rename to seen")
        try await database.until {
            report()
            return try database.query("select count(*) from ferry.seen") == "1"
        }
        guard reporter.events.all.count == 1, case .trouble(nil, let reason) = reporter.events.all[0] else {
            Issue.record("\(reporter.events.all)")
            return
        }
        #expect(reason.contains("ferry.seen"))
    }
}
