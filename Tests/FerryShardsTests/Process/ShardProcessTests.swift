import Dispatch
import Ferry
import FerryCore
import FerryForwarding
import FerryGateway
import FerryPostgres
import FerryPostgresTestSupport
import FerryShards
import FerryTesting
import Foundation
import NIOCore
import NIOPosix
import Testing

/// Processes that share shards, with a real PostgreSQL and a simulated APNs.
@Suite(.enabled(if: PostgresServer.isAvailable), .timeLimit(.minutes(3)))
struct ShardProcessTests {
    @Test func `A process takes all shards, delivers, and gives them to the next at its end`() async throws {
        let database = try await ShardDatabase(shards: 2)
        let first = try await TestProcess(database, "gw1")
        try await first.process.start()
        try await first.waitFor(shards: [0, 1])
        for shard in 0...1 { try await first.push(20, to: shard) }
        let second = try await TestProcess(database, "gw2", credentials: first.credentials)
        try await second.process.start()
        await first.stop()
        try await second.waitFor(shards: [0, 1])
        try await second.push(20, to: 1)
        #expect(first.recorder.requests.count == 40 && first.recorder.duplicates.isEmpty)
        #expect(second.recorder.requests.count == 20)
        let figures = await second.process.figures
        #expect(figures.takes == 2 && figures.fenced == 0 && figures.sentWithoutRight == 0)
        #expect(figures.owned.count == 2 && figures.owned.allSatisfy { $0.rightSeconds > 0 })
        #expect(first.events.all.filter { if case .released(_, isFreed: true) = $0 { true } else { false } }.count == 2)
        await second.stop()
    }

    @Test func `A client that comes to two shards is named with its address`() async throws {
        let database = try await ShardDatabase(shards: 2)
        let process = try await TestProcess(database, "gw1")
        try await process.run { running in
            try await process.waitFor(shards: [0, 1])
            for shard in 0...1 { try await process.push(1, to: shard) }
            let client = ClientAddress(client: "app", address: "127.0.0.1")
            try await database.until { process.events.all.contains(.misrouted(client, shards: [0, 1])) }
            #expect(await running.figures.misrouted == 1)
        }
    }

    @Test func `A shard that another node shall have goes there`() async throws {
        let database = try await ShardDatabase(shards: 1)
        let first = try await TestProcess(database, "gw1")
        try await first.run { _ in
            try await first.waitFor(shards: [0])
            try await first.push(10, to: 0)
            let second = try await TestProcess(database, "gw2")
            try await second.run { _ in
                try database.query("update ferry.shard set wanted = 'gw2'")
                try await second.waitFor(shards: [0])
                #expect(first.events.all.contains(.wanted(shard: 0, by: "gw2")))
                let shown = try #require(await first.process.shown)
                // The counts of a shard that has gone stay.
                #expect(shown.snapshot.figures.counts.accepted == 10)
                #expect(try database.query("select owner, wanted is null from ferry.shard") == "gw2|t")
            }
        }
    }

    @Test func `A reload changes all shards and later ones, and a refused one changes nothing`() async throws {
        let database = try await ShardDatabase(shards: 3)
        let owner = try TestOwner(database, "gw0")
        _ = try await owner.store.open()
        let process = try await TestProcess(database, "gw1", client: "old")
        try await process.run { running in
            try await process.waitFor(shards: [1, 2])
            for shard in 1...2 { try await process.push(10, to: shard) }
            // The port of shard 2 is taken, that of shard 1 is not.
            let taken = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: 0).get()
            let port = try #require(taken.localAddress?.port)
            await #expect(throws: ListenFault.self) { try await process.reload(client: "new", port: port - 2) }
            try await taken.close()
            for shard in 1...2 { try await process.push(10, to: shard, from: 10) }
            let reloaded = try await process.reload(client: "new", settings: 1)
            #expect(reloaded.change.clients.added == ["new"] && reloaded.change.clients.removed == ["old"])
            #expect(reloaded.change.replaced == [0])
            for shard in 1...2 { try await process.push(10, to: shard, from: 20) }
            await owner.store.close()
            try await process.waitFor(shards: [0, 1, 2])
            try await process.push(10, to: 0)
            let shown = try #require(await running.shown)
            let figures = shown.snapshot.figures
            #expect(figures.clients.map(\.name) == ["old", "new"])
            #expect(figures.clients.map(\.counts.accepted) == [40, 30])
            #expect(figures.counts.isConserved && figures.counts.unanswered == 0)
            #expect(shown.shards?.map(\.owner) == ["gw1", "gw1", "gw1"])
            #expect(shown.shards?.allSatisfy { $0.rightSeconds ?? 0 > 0 && $0.waiting == 0 } == true)
            #expect(shown.shards?.map(\.term.count) == [36, 36, 36])
        }
        #expect(process.recorder.requests.count == 70 && process.recorder.duplicates.isEmpty)
    }

    @Test func `A process tells that PostgreSQL is away, and that it is back`() async throws {
        let database = try await ShardDatabase(shards: 1)
        let process = try await TestProcess(database, "gw1")
        try await process.run { _ in
            try await process.waitFor(shards: [0])
            try database.query(
                """
                select pg_terminate_backend(pid) from pg_stat_activity
                 where application_name = 'ferry gw1' and datname = current_database()
                """
            )
            try await database.until { process.events.all.contains(.answered) }
            #expect(process.events.all.contains { if case .trouble(shard: nil, _) = $0 { true } else { false } })
        }
    }

    @Test func `Old rejections are removed some at a time, and new ones stay`() async throws {
        let database = try await ShardDatabase(shards: 1)
        try database.query(
            """
            insert into ferry.rejection select 0, g, now() - interval '40 days', '{}' from generate_series(1, 2500) g;
            insert into ferry.rejection select 0, g, now() - interval '20 days', '{}' from generate_series(2501, 2503) g;
            """
        )
        let process = try await TestProcess(database, "gw1")
        try await process.run { _ in
            try await database.until { try database.query("select count(*) from ferry.rejection") == "3" }
        }
        #expect(try database.query("select min(job) from ferry.rejection") == "2501")
    }

    @Test func `Letters of all shards are listed, sent again and dropped`() async throws {
        let database = try await ShardDatabase(shards: 2)
        let process = try await TestProcess(database, "gw1")
        try await process.run { running in
            try await process.waitFor(shards: [0, 1])
            for shard in 0...1 { try await process.lose(in: shard) }
            var letters: [Letter] = []
            // A letter is there when PostgreSQL has it.
            while letters.count < 2 { letters = try await running.letters(after: nil, limit: 10) }
            #expect(try await running.letters(after: letters[0].apnsID, limit: 10).map(\.apnsID) == [letters[1].apnsID])
            #expect(try await running.letters(after: nil, limit: 1).map(\.apnsID) == [letters[0].apnsID])
            #expect(try await running.retry([letters[1]]) == [.done])
            #expect(try await running.drop(letters.map(\.apnsID)).first == .done)
            while try await !running.letters(after: nil, limit: 10).isEmpty {
                try await Task.sleep(for: .milliseconds(20))
            }
            let shown = try #require(await running.shown)
            #expect(shown.snapshot.figures.counts.retried == 1)
        }
        #expect(process.recorder.requests.count == 3)
    }

    @Test func `Waiting notifications of all shards are listed, and move with them`() async throws {
        let database = try await ShardDatabase(shards: 2)
        let process = try await TestProcess(database, "gw1")
        try await process.run { running in
            try await process.waitFor(shards: [0, 1])
            await process.apns.stop()
            for shard in 0...1 { try await process.leave(5, in: shard) }
            var (rows, place): ([WaitingRow], WaitingPlace?) = ([], WaitingPlace())
            var pages = 0
            while let next = place {
                // A reader of the admin service gets the place as text.
                let after = try #require(WaitingPlace(next.description))
                let page = try await running.waiting(after: after, WaitingFilter(), limit: 3)
                rows += page.rows
                place = page.next
                pages += 1
            }
            #expect(rows.count == 10 && pages >= 4)
            let shown = try #require(await running.shown)
            #expect(shown.snapshot.figures.counts.unanswered == 10)
        }
        let shown = try #require(await process.process.shown)
        let counts = shown.snapshot.figures.counts
        #expect(counts.moved == 10 && counts.unanswered == 0 && counts.isConserved)
    }

    @Test func `Its sessions are ended again and again, and no shard changes its owner`() async throws {
        let database = try await ShardDatabase(shards: 1)
        let first = try await TestProcess(database, "gw1")
        try await first.run { _ in
            try await first.waitFor(shards: [0])
            let second = try await TestProcess(database, "gw2")
            try await second.run { process in
                for _ in 0..<5 {
                    try await first.push(10, to: 0)
                    try database.endSessions(of: "gw1")
                }
                try await first.push(10, to: 0)
                #expect(await process.gateways.isEmpty)
            }
        }
        #expect(first.recorder.requests.count == 60)
    }

    @Test func `A process that was stopped is fenced, hands over, and stands by`() async throws {
        let database = try await ShardDatabase(shards: 1)
        let first = try await TestProcess(database, "gw1")
        try await first.run { process in
            try await first.waitFor(shards: [0])
            try await first.push(10, to: 0)
            let second = try await TestProcess(database, "gw2", credentials: first.credentials)
            try await second.run { _ in
                let gateway = try #require(await process.gateways[0])
                let pause = DispatchSemaphore(value: 0)
                gateway.eventLoop.execute { pause.wait() }
                // The server ends the silent session after 4 s, and the grace begins.
                try await second.waitFor(shards: [0])
                pause.signal()
                try await first.waitFor(shards: [])
                #expect(first.events.all.contains(.fenced(shard: 0)))
                #expect(first.events.all.contains(.handedOver(shard: 0)))
                try await second.push(10, to: 0, from: 100)
                let figures = await process.figures
                #expect(figures.fenced == 1 && figures.sentWithoutRight == 0 && figures.owned.isEmpty)
            }
            #expect(second.recorder.requests.count == 10)
        }
        #expect(first.recorder.requests.count == 10)
    }

    @Test func `A shard with notifications of an unknown client is given up, with an alarm`() async throws {
        let database = try await ShardDatabase(shards: 1)
        let first = try await TestProcess(database, "gw1", client: "known")
        try await first.run { _ in
            try await first.waitFor(shards: [0])
            await first.apns.stop()
            try await first.leave(1, in: 0)
        }
        let second = try await TestProcess(database, "gw2", client: "other")
        try await second.run { process in
            try await database.until {
                second.events.all.contains { if case .refused = $0 { true } else { false } }
            }
            #expect(await process.gateways.isEmpty)
            let third = try await TestProcess(database, "gw3", credentials: first.credentials, client: "known")
            try await third.run { _ in
                try await database.until { third.recorder.requests.count == 1 }
            }
        }
    }

    @Test func `A shard that was taken too often is refused with a sentence, and keeps its last epoch`() async throws {
        let database = try await ShardDatabase(shards: 1)
        try database.query("update ferry.shard set epoch = 4194303")
        let process = try await TestProcess(database, "gw1")
        try await process.run { _ in
            var reason: String?
            try await database.until {
                for case .refused(shard: 0, let told) in process.events.all { reason = told }
                return reason != nil
            }
            #expect(reason?.contains("its numbers are used up") == true)
            #expect(try database.query("select epoch from ferry.shard") == "4194303")
        }
    }

    @Test func `A shard whose recovery takes long is named like one without an owner, until it is served`()
        async throws
    {
        let database = try await ShardDatabase(shards: 1)
        // Each recovery waits for this lock.
        let lock = PostgresSession(PostgresSettings(database.connection, name: "lock"))
        for statement in ["begin", "lock table ferry.habit"] as [StaticString] {
            _ = try await lock.send(PostgresStatement(statement), within: .seconds(60))
        }
        let process = try await TestProcess(database, "gw1")
        try await process.run { running in
            try await database.until { process.events.all.contains(.ownerless(shard: 0)) }
            #expect(await running.gateways.isEmpty)
            #expect(await running.figures.ownerless == 1)
            lock.close()
            try await process.waitFor(shards: [0])
            while await running.figures.ownerless != 0 { try await Task.sleep(for: .milliseconds(20)) }
            #expect(!process.events.all.contains { if case .refused = $0 { true } else { false } })
        }
    }

    @Test func `The end of the process ends a recovery, and gives the shard up`() async throws {
        let database = try await ShardDatabase(shards: 1)
        // Each page of this table has one row, and another one follows.
        try database.query(
            """
            create table ferry.reads ();
            alter table ferry.habit rename to old_habit;
            create function ferry.page() returns table (key bytea, value bytea) language plpgsql as $$ begin
              insert into ferry.reads default values;
              perform pg_sleep(0.02);
              return query select int8send((extract(epoch from clock_timestamp()) * 1e6)::bigint), '\\x'::bytea;
            end $$;
            create view ferry.habit as select * from ferry.page()
            """
        )
        let process = try await TestProcess(database, "gw1")
        try await process.run { running in
            try await database.until { try database.query("select count(*) > 3 from ferry.reads") == "t" }
            await running.shutDown()
            let events = process.events.all
            #expect(events.contains(.released(shard: 0, isFreed: true)))
            #expect(!events.contains(.taken(shard: 0)) && !events.contains(.resumed(shard: 0)))
            #expect(try database.query("select owner, freed from ferry.shard") == "gw1|t")
        }
    }

    @Test func `A process whose name another one has says so, and takes shards`() async throws {
        let database = try await ShardDatabase(shards: 1)
        func namesakes(_ process: TestProcess) -> Int {
            process.events.all.count { if case .namesake = $0 { true } else { false } }
        }
        let first = try await TestProcess(database, "gw1")
        try await first.run { running in
            try await first.waitFor(shards: [0])
            let second = try await TestProcess(database, "gw1")
            try await second.run { _ in
                #expect(namesakes(first) == 0 && namesakes(second) == 1)
                await running.shutDown()
                try await second.waitFor(shards: [0])
            }
        }
    }

    @Test func `A clock that is a minute from PostgreSQL's is named once`() async throws {
        let database = try await ShardDatabase(shards: 1)
        try database.query(
            """
            set allow_system_table_mods = on;
            alter function pg_catalog.clock_timestamp() rename to right_time;
            create function pg_catalog.clock_timestamp() returns timestamptz language sql as
              $$ select pg_catalog.right_time() - interval '63 s' $$
            """
        )
        let process = try await TestProcess(database, "gw1")
        try await process.run { running in
            try await process.waitFor(shards: [0])
            while await running.figures.clockSeconds == 0 { try await Task.sleep(for: .milliseconds(20)) }
            let clocks = process.events.all.compactMap { if case .clock(let seconds) = $0 { seconds } else { nil } }
            #expect(clocks.count == 1 && clocks.allSatisfy { (58...66).contains($0) })
        }
    }

    @Test func `Commits wait for the disk, whatever the database has set`() async throws {
        let database = try await ShardDatabase(shards: 1)
        try database.query(
            """
            alter database \(database.name) set synchronous_commit = off;
            create table public.seen (word text);
            create function public.see() returns trigger language plpgsql as
              $$ begin insert into public.seen values (current_setting('synchronous_commit')); return null; end $$;
            create trigger see after insert on ferry.segment execute function public.see();
            """
        )
        let process = try await TestProcess(database, "gw1")
        try await process.run { _ in
            try await process.waitFor(shards: [0])
            try await process.push(1, to: 0)
        }
        #expect(try database.query("select distinct word from public.seen") == "on")
    }

    @Test func `At the end, the file lists each notification that PostgreSQL could not get, of all shards`()
        async throws
    {
        let database = try await ShardDatabase(shards: 2)
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let list = try ListFile(path: path)
        defer { list.close() }
        let process = try await TestProcess(database, "gw1", list: list)
        try await process.run { _ in
            try await process.waitFor(shards: [0, 1])
            try await process.push(1, to: 0, from: 100)
            try await process.push(1, to: 1, from: 100)
            try database.server.query("alter database \(database.name) allow_connections false", in: "postgres")
            try database.endSessions(of: "gw1")
            // Their listeners close after 3 s. One after the other, the second could come too late.
            async let first: Void = process.leave(3, in: 0)
            async let second: Void = process.leave(3, in: 1)
            _ = try await (first, second)
            await #expect(process.process.shutDown() == false)
        }
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count { $0.contains(#""event":"deadLetter","client":"app""#) } == 6)
        #expect(await process.process.unlisted == 0)
    }

    @Test func `A database without tables, or with a later version, prevents the start with a sentence`() async throws {
        let database = try await ShardDatabase(shards: 1)
        let process = try await TestProcess(database, "gw1")
        try database.query("update ferry.meta set version = 99")
        let version = await #expect(throws: PostgresError.self) { try await process.process.start() }
        #expect(version?.description.contains("install a later version of Ferry") == true)
        try database.query("drop schema ferry cascade")
        let empty = await #expect(throws: PostgresError.self) { try await process.process.start() }
        #expect(empty?.description.contains("ferry store init") == true)
        await process.stop()
    }

    @Test func `A process without a shard gives feedback rows`() async throws {
        let database = try await ShardDatabase(shards: 1)
        try database.query(
            "insert into ferry.feedback (client, token, since) values ('app', '\\x01020304', 7), ('other', '\\x05', 7)"
        )
        // Another process has the shard.
        let owner = try TestOwner(database, "gw0")
        _ = try await owner.store.open()
        let process = try await TestProcess(database, "gw1", feedback: true)
        try await process.run { running in
            let port = try #require(await running.feedbackPort)
            var reader = FeedbackConfiguration(
                host: "127.0.0.1",
                port: port,
                identity: process.credentials.client
            )
            reader.trustRoots = process.credentials.trustRoots
            reader.serverName = "localhost"
            var tokens: [[UInt8]] = []
            // On a busy machine a session may take too long, and the reader comes again.
            while tokens.isEmpty {
                for try await tuple in try FeedbackReader(reader).sweep() { tokens.append(tuple.token.bytes) }
            }
            #expect(tokens == [[1, 2, 3, 4]])
            try await database.until { try database.query("select client from ferry.feedback") == "other" }
        }
        await owner.store.close()
    }
}
