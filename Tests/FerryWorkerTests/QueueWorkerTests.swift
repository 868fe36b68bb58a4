import Ferry
import FerryCore
import FerryPlatform
import FerryPostgres
import FerryPostgresTestSupport
import FerryTesting
import FerryWorker
import NIOCore
import Testing

/// With a real PostgreSQL and a simulated APNs.
@Suite(.enabled(if: PostgresServer.isAvailable), .timeLimit(.minutes(2)))
struct QueueWorkerTests {
    private let words = "select word, count(*) from ferry.outcome group by word order by word"

    @Test func `Two workers deliver each of many rows once`() async throws {
        let world = try await QueueWorld { $0.answerDelay = .milliseconds(20) }
        try world.insert(5000)
        try await world.work()
        try await world.work()
        try await world.drain()
        #expect(try world.query(self.words) == "accepted|5000")
        #expect(world.record.count == 5000)
        #expect(world.record.doubled == 0)
        await world.end()
    }

    @Test func `Outcomes wait for the disk, whatever the database has set`() async throws {
        let world = try await QueueWorld()
        try world.query(
            """
            alter database \(world.database) set synchronous_commit = off;
            create table public.seen (word text);
            create function public.see() returns trigger language plpgsql as
              $$ begin insert into public.seen values (current_setting('synchronous_commit')); return null; end $$;
            create trigger see after insert on ferry.outcome execute function public.see();
            """
        )
        try world.insert(10)
        try await world.work()
        try await world.drain()
        #expect(try world.query("select distinct word from public.seen") == "on")
        await world.end()
    }

    @Test func `With the grant of queue.sql, the worker sees transactions of other roles`() async throws {
        let world = try await QueueWorld()
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let example = tests.deletingLastPathComponent().appending(path: "Examples/Queue/queue.sql")
        let lines = try String(contentsOf: example, encoding: .utf8).split(separator: "\n")
        let grant = try #require(lines.first { $0 == "grant pg_read_all_stats to ferry;" })
        // The roles are those of the whole server.
        let role = "worker_\(world.database)"
        try world.query(
            """
            create role \(role) login; grant usage on schema ferry to \(role);
            grant all on all tables in schema ferry to \(role); \(grant.replacing("to ferry", with: "to \(role)"))
            """
        )
        let other = PostgresSession(PostgresSettings(world.server.connection(to: world.database), name: "other"))
        _ = try await other.send(PostgresStatement("begin"), within: .seconds(10))
        _ = try await other.send(PostgresStatement("select pg_sleep(0.2)"), within: .seconds(10))
        let worker = try await world.work { configuration in
            configuration.postgres = configuration.postgres.replacing("user=ferry", with: "user=\(role)")
        }
        while await worker.figures.queue == nil { try await Task.sleep(for: .milliseconds(20)) }
        #expect(try #require(await worker.figures.queue).oldestTransaction >= .milliseconds(200))
        other.close()
        await world.end()
    }

    @Test func `A push carries the headers, the expiration and the apns-id of its row`() async throws {
        let world = try await QueueWorld()
        try world.query(
            #"""
            insert into ferry.push (client, token, payload, headers, expires, apns_id) values
              ('shop', repeat('ab', 32), '{"aps": {"alert": "Hello"}}',
               '{"pushType": "alert", "priority": 5, "collapseID": "score", "topic": null}', '2100-01-01T00:00:00Z',
               '0f8fad5b-d9cb-469f-a165-70867728950e'),
              ('shop', repeat('ac', 32), '{"aps": {}}', '{"pushType": "voip"}', 'infinity', default)
            """#
        )
        try await world.work(connections: 1)
        try await world.drain()
        let first = try #require(world.record.requests.first { $0.collapseID != nil })
        #expect(first.apnsID == "0f8fad5b-d9cb-469f-a165-70867728950e")
        #expect(first.topic == QueueWorld.topic)
        #expect(first.pushType == "alert")
        #expect(first.priority == 5)
        #expect(first.collapseID == "score")
        #expect(first.expiration == 4_102_444_800)
        let second = try #require(world.record.requests.first { $0.collapseID == nil })
        #expect(second.topic == "\(QueueWorld.topic).voip")
        #expect(second.expiration == Int64(UInt32.max))
        let outcome = try world.query("select word, status, apns_id from ferry.outcome order by id limit 1")
        #expect(outcome == "accepted|200|0f8fad5b-d9cb-469f-a165-70867728950e")
        await world.end()
    }

    @Test func `A row that cannot become a push is rejected, and costs no other anything`() async throws {
        let world = try await QueueWorld()
        try world.query(
            #"""
            insert into ferry.push (client, token, payload, headers) values
              ('nobody', repeat('ab', 32), '{}', null), ('shop', 'xyz', '{}', null), ('shop', '', '{}', null),
              ('shop', repeat('ab', 32), '[1]', null), ('shop', repeat('ab', 32), to_json(repeat('x', 6000)), null),
              ('shop', repeat('ab', 32), '{}', '[]'), ('shop', repeat('ab', 32), '{}', '{"push_type": "alert"}'),
              ('shop', repeat('ab', 32), '{}', '{"pushType": "loud"}'), ('shop', repeat('ab', 32), '{}', '{"priority": 7}'),
              ('shop', repeat('ab', 32), '{}', '{"topic": "com.other.app"}'),
              ('shop', repeat('ab', 32), '{}', json_build_object('collapseID', repeat('c', 65))),
              ('shop', repeat('ab', 32), '{"aps": {}}', null)
            """#
        )
        try await world.work(connections: 1)
        try await world.drain()
        let found = try world.query("select word, coalesce(reason, '') from ferry.outcome order by id")
        #expect(
            found.split(separator: "\n") == [
                "rejected|UnknownClient", "rejected|BadDeviceToken", "rejected|BadDeviceToken",
                "rejected|BadRequestPayload", "rejected|PayloadTooLarge", "rejected|BadHeaders", "rejected|BadHeaders",
                "rejected|InvalidPushType", "rejected|BadPriority", "rejected|TopicDisallowed",
                "rejected|BadCollapseId", "accepted|",
            ]
        )
        #expect(world.record.count == 1)
        await world.end()
    }

    @Test func `A long payload is not read, although PostgreSQL could compress it`() async throws {
        let world = try await QueueWorld()
        let payload = #"('{"aps": {}' || repeat(' ', 1300000) || '}')::json"#
        try world.query("insert into ferry.push (client, token, payload) values ('shop', repeat('ab', 32), \(payload))")
        #expect(try world.query("select pg_column_size(payload) > 1300000 from ferry.push") == "t")
        try await world.work(connections: 1)
        try await world.drain()
        #expect(try world.query("select word, reason from ferry.outcome") == "rejected|PayloadTooLarge")
        await world.end()
    }

    @Test func `A payload that was compressed in another table is read by the length of its text`() async throws {
        let world = try await QueueWorld()
        try world.query(
            """
            create table public.campaign (token text, payload json);
            insert into public.campaign values
              (repeat('ab', 32), ('{"aps": {}' || repeat(' ', 1300000) || '}')::json),
              (repeat('ac', 32), ('{"aps": {}' || repeat(' ', 3000) || '}')::json);
            insert into ferry.push (client, token, payload) select 'shop', token, payload from public.campaign
            """
        )
        let compressed = "select count(*) from ferry.push where pg_column_compression(payload) is not null"
        #expect(try world.query(compressed) == "2")
        try await world.work(connections: 1)
        try await world.drain()
        let found = try world.query("select word, coalesce(reason, '') from ferry.outcome order by word")
        #expect(found == "accepted|\nrejected|PayloadTooLarge")
        await world.end()
    }

    @Test func `Locked rows are passed over, whatever isolation the database has set`() async throws {
        let world = try await QueueWorld { $0.answerDelay = .milliseconds(20) }
        try world.query("alter database \(world.database) set default_transaction_isolation = 'repeatable read'")
        try world.insert(2000)
        try await world.work()
        try await world.work()
        try await world.drain()
        #expect(try world.query(self.words) == "accepted|2000")
        #expect(world.events.withLock { !$0.contains { if case .postgresLost = $0 { true } else { false } } })
        await world.end()
    }

    @Test func `A row of one client does not wait for the older rows of another`() async throws {
        let world = try await QueueWorld()
        let clients = ["big", "small"].map { WorkerClient(name: $0, upstream: 0, topics: [QueueWorld.topic]) }
        try world.insert(20_000, client: "big", columns: ["due": "now() - interval '1 min'"])
        try world.insert(1, client: "small")
        try await world.work(connections: 1, batch: 50, clients: clients)
        try await world.wait(for: "1", from: "select count(*) from ferry.outcome where client = 'small'")
        let before = """
            select count(*) < 10000 from ferry.outcome
              where client = 'big' and at <= (select at from ferry.outcome where client = 'small')
            """
        #expect(try world.query(before) == "t")
        await world.end()
    }

    @Test func `A select that takes too long sends nothing, and says so`() async throws {
        let world = try await QueueWorld()
        try world.insert(1)
        let other = PostgresSession(PostgresSettings(world.server.connection(to: world.database), name: "other"))
        for text in ["begin", "lock table ferry.push"] as [StaticString] {
            _ = try await other.send(PostgresStatement(text), within: .seconds(10))
        }
        try await world.work(connections: 1)
        try await world.wait(
            for: "t",
            from: """
                select coalesce(max(clock_timestamp() - query_start) > interval '2.1 s', false) from pg_stat_activity
                  where datname = current_database() and application_name = 'ferry worker' and wait_event_type = 'Lock'
                    and query like '%for update of p skip locked%'
                """
        )
        _ = try await other.send(PostgresStatement("commit"), within: .seconds(10))
        try await world.waitForEvent {
            if case .postgresLost(let reason) = $0 { reason.contains("longer than 2 s") } else { false }
        }
        try await world.drain()
        #expect(world.record.count == 1)
        other.close()
        await world.end()
    }

    @Test func `The same key makes one push, also after its outcome`() async throws {
        let world = try await QueueWorld()
        try world.insert(1, columns: ["key": "'order 1'"])
        #expect(throws: (any Error).self) { try world.insert(1, columns: ["key": "'order 1'"]) }
        try await world.work(connections: 1)
        try await world.drain()
        try world.insert(1, columns: ["key": "'order 1'"])
        try world.insert(1, columns: ["key": "'order 2'"])
        try await world.drain()
        #expect(try world.query(self.words) == "accepted|2\nduplicate|1")
        #expect(try world.query("select count(*) from ferry.outcome where key is null and word = 'duplicate'") == "1")
        #expect(world.record.count == 2)
        await world.end()
    }

    @Test func `A row that has expired, or is not due, is not sent`() async throws {
        let world = try await QueueWorld()
        try world.insert(3, columns: ["expires": "now() - interval '1 s'"])
        try world.insert(2, columns: ["due": "now() + interval '1 hour'"])
        try world.insert(1)
        try await world.work(connections: 1)
        try await world.wait(for: "2", from: "select count(*) from ferry.push")
        #expect(try world.query(self.words) == "accepted|1\nexpired|3")
        #expect(world.record.count == 1)
        await world.end()
    }

    @Test func `A rejection has APNs' status and reason`() async throws {
        let world = try await QueueWorld {
            $0.rules = [HTTP2Rule(prefix: [0xba], status: 410), HTTP2Rule(prefix: [0xbb], reason: .badDeviceToken)]
        }
        try world.insert(1, prefix: "ba")
        try world.insert(1, prefix: "bb")
        try await world.work(connections: 1)
        try await world.drain()
        let found = try world.query("select word, status, reason from ferry.outcome order by id")
        #expect(found == "rejected|410|Unregistered\nrejected|400|BadDeviceToken")
        await world.end()
    }

    @Test func `A 503 is tried again after its delay, across a restart, with the same apns-id`() async throws {
        let world = try await QueueWorld { $0.rules = [HTTP2Rule(prefix: [0x50], times: 1, status: 503)] }
        try world.insert(1, prefix: "50")
        let id = try world.query("select apns_id from ferry.push")
        try await world.work(connections: 1)
        try await world.wait(for: "1|t", from: "select attempts, due > now() + interval '5 s' from ferry.push")
        await world.stopWorkers()
        #expect(try world.query("select count(*) from ferry.outcome") == "0")
        try world.query("update ferry.push set due = now()")
        try await world.work(connections: 1)
        try await world.drain()
        #expect(world.record.requests.map(\.apnsID) == [id])
        #expect(try world.query("select word, apns_id from ferry.outcome") == "accepted|\(id)")
        await world.end()
    }

    @Test func `A session that ends in the middle costs no row, and each has one outcome`() async throws {
        let world = try await QueueWorld { $0.answerDelay = .milliseconds(30) }
        let worker = try await world.work(connections: 4, batch: 100)
        try await world.work(connections: 4, batch: 100)
        let kill = """
            select count(pg_terminate_backend(pid)) from (
              select pid from pg_stat_activity where application_name = 'ferry worker'
                and datname = current_database() and xact_start is not null limit 2) s
            """
        var (inserted, ended) = (0, 0)
        repeat {
            // The queue may be empty again before a session is found.
            if inserted < 8000 || ended == 0 {
                try world.insert(2000)
                inserted += 2000
            }
            if ended < 10, let number = Int(try world.query(kill)) { ended += number }
            try await Task.sleep(for: .milliseconds(20))
        } while try ended == 0 || inserted < 8000 || world.query("select count(*) from ferry.push") != "0"
        #expect(try world.query(self.words) == "accepted|\(inserted)")
        #expect(world.record.count - world.record.doubled == inserted)
        #expect(world.record.doubled <= ended * 100)
        let figures = await worker.figures
        #expect(figures.batches.count > 0)
        await world.end()
    }

    @Test(arguments: [1, 4])
    func `The end of some or all sessions of the only worker doubles nothing`(sessions: Int) async throws {
        let world = try await QueueWorld { $0.answerDelay = .milliseconds(50) }
        try world.insert(4000)
        try await world.work(connections: 4, batch: 100)
        for _ in 0..<(20 / sessions) {
            try world.query(
                """
                select pg_terminate_backend(pid) from (
                  select pid from pg_stat_activity where application_name = 'ferry worker' and datname = current_database()
                    order by random() limit \(sessions)) s
                """
            )
            try await Task.sleep(for: .milliseconds(150))
        }
        try await world.drain()
        #expect(try world.query(self.words) == "accepted|4000")
        #expect(world.record.doubled == 0)
        #expect(world.events.withLock { $0.contains { if case .postgresLost = $0 { true } else { false } } })
        #expect(world.events.withLock { $0.contains(.postgresBack) })
        await world.end()
    }

    @Test func `Refused credentials leave the rows of other clients alone, and are reported`() async throws {
        let world = try await QueueWorld { $0.topics = ["com.example.good"] }
        let clients = [
            WorkerClient(name: "good", upstream: 0, topics: ["com.example.good"]),
            WorkerClient(name: "bad", upstream: 0, topics: ["com.example.bad"]),
        ]
        try world.insert(300, client: "bad")
        try world.insert(300, client: "good")
        try await world.work(connections: 2, batch: 50, clients: clients)
        try await world.wait(for: "300", from: "select count(*) from ferry.push")
        #expect(try world.query("select distinct client, word from ferry.outcome") == "good|accepted")
        // The refused rows are hidden for a minute, and a refusal is no attempt. On a busy machine, other rows may not
        // reach APNs in time, and are tried again in seconds.
        let hidden = "select distinct client, attempts from ferry.push where due > now() + interval '10 s'"
        #expect(try world.query(hidden) == "bad|0")
        try await world.waitForEvent { $0 == .held(client: "bad", .refused(.topicDisallowed)) }
        let tried = world.apns.counts.rejected
        while world.apns.counts.rejected == tried { try await Task.sleep(for: .milliseconds(20)) }
        await world.end()
    }

    @Test func `A topic that APNs refuses leaves the client's other topics alone`() async throws {
        let world = try await QueueWorld { $0.topics = ["com.example.good"] }
        let clients = [WorkerClient(name: "shop", upstream: 0, topics: ["com.example.good", "com.example.bad"])]
        let columns = ["headers": #"'{"topic": "com.example.bad"}'"#, "due": "now() - interval '1 min'"]
        try world.insert(200, prefix: "ba", columns: columns)
        try world.insert(100)
        try await world.work(connections: 1, batch: 50, clients: clients)
        try await world.wait(for: "accepted|100", from: self.words)
        // Each row of the refused topic was tried once.
        #expect(world.apns.counts.rejected <= 200)
        await world.end()
    }

    @Test func `A held client with many expired rows is released by its first good one`() async throws {
        let world = try await QueueWorld {
            $0.rules = [HTTP2Rule(prefix: [0xaa], times: 1, reason: .topicDisallowed)]
        }
        try world.insert(1, prefix: "aa")
        try await world.work(connections: 1, batch: 50)
        try await world.waitForEvent { $0 == .held(client: "shop", .refused(.topicDisallowed)) }
        let old = ["due": "now() - interval '1 min'", "expires": "now() - interval '1 s'"]
        try world.insert(5000, columns: old)
        try world.insert(100)
        try await world.wait(for: "accepted|100\nexpired|5000", from: self.words)
        try await world.waitForEvent { $0 == .released(client: "shop") }
        await world.end()
    }

    @Test func `A client without a way to APNs waits, and the others do not`() async throws {
        let world = try await QueueWorld()
        let clients = [
            WorkerClient(name: "near", upstream: 0, topics: [QueueWorld.topic]),
            WorkerClient(name: "far", upstream: 1, topics: [QueueWorld.topic]),
        ]
        try world.insert(500, client: "far")
        try world.insert(500, client: "near")
        // Nobody listens on this port.
        try await world.work(connections: 2, batch: 50, clients: clients, upstreams: [{ _ in }, { $0.port = 9 }])
        try await world.wait(for: "500", from: "select count(*) from ferry.outcome")
        #expect(try world.query("select distinct client from ferry.outcome") == "near")
        try await world.waitForEvent { $0 == .held(client: "far", .unreachable) }
        await world.end()
        #expect(try world.query("select count(*) from ferry.push") == "500")
    }

    @Test func `A client whose APNs does not answer waits, and the others do not`() async throws {
        let world = try await QueueWorld {
            $0.rules = [HTTP2Rule(prefix: [0xdd], status: 200, delay: .seconds(15))]
        }
        let clients = [
            WorkerClient(name: "near", upstream: 0, topics: [QueueWorld.topic]),
            WorkerClient(name: "far", upstream: 1, topics: [QueueWorld.topic]),
        ]
        try world.insert(2000, client: "far", prefix: "dd", columns: ["due": "now() - interval '1 min'"])
        try world.insert(500, client: "near")
        try await world.work(connections: 2, batch: 50, clients: clients, upstreams: [{ _ in }, { _ in }])
        try await world.wait(for: "500", from: "select count(*) from ferry.outcome where client = 'near'")
        #expect(try world.query("select count(*) from ferry.outcome where client = 'far'") == "0")
        try await world.waitForEvent { $0 == .held(client: "far", .unanswered) }
        try await world.waitForEvent { $0 == .released(client: "far") }
        #expect(world.record.doubled == 0)
        await world.end()
    }

    @Test func `Beside many rows of a held client, others are delivered, and unknown clients are refused`() async throws
    {
        let world = try await QueueWorld { $0.topics = ["com.example.good"] }
        let clients = [
            WorkerClient(name: "bad", upstream: 0, topics: ["com.example.bad"]),
            WorkerClient(name: "good", upstream: 0, topics: ["com.example.good"]),
        ]
        try world.insert(20_000, client: "bad", columns: ["due": "now() - interval '1 min'"])
        try await world.work(connections: 2, batch: 50, clients: clients)
        try await world.waitForEvent { $0 == .held(client: "bad", .refused(.topicDisallowed)) }
        try world.insert(500, client: "good")
        try world.insert(5, client: "nobody")
        try await world.wait(for: "505", from: "select count(*) from ferry.outcome")
        let found = try world.query("select client, word, count(*) from ferry.outcome group by 1, 2 order by 1")
        #expect(found == "good|accepted|500\nnobody|rejected|5")
        await world.end()
    }

    @Test func `An APNs that answers late delays no batch, and its answers are written`() async throws {
        let world = try await QueueWorld {
            $0.rules = [HTTP2Rule(prefix: [0xdd], status: 200, delay: .seconds(15))]
        }
        try await world.work(connections: 1, batch: 10)
        // On a cold connection, the others would wait for the first.
        try world.insert(1)
        try await world.drain()
        try world.insert(1, prefix: "dd")
        try world.insert(50)
        try await world.wait(for: "t", from: "select count(*) > 50 from ferry.outcome")
        #expect(try world.query("select count(*) from ferry.push where left(token, 2) = 'dd'") == "1")
        try await world.drain()
        #expect(try world.query(self.words) == "accepted|52")
        #expect(world.record.doubled == 0)
        await world.end()
    }

    @Test func `Old outcomes go, and accepted ones are not kept if nobody wants them`() async throws {
        let world = try await QueueWorld { $0.rules = [HTTP2Rule(prefix: [0xba], status: 410)] }
        try world.query(
            """
            insert into ferry.outcome (id, client, word, apns_id, at)
              select -g, 'shop', 'accepted', gen_random_uuid(), now() - interval '8 days' from generate_series(1, 2500) g
            """
        )
        try world.insert(10)
        try world.insert(5, prefix: "ba")
        try await world.work(connections: 1) { $0.keepsAccepted = false }
        try await world.drain()
        try await world.wait(for: "rejected|5", from: self.words)
        await world.end()
    }

    @Test func `A stop lets go of rows, which another worker delivers`() async throws {
        let world = try await QueueWorld { $0.answerDelay = .milliseconds(30) }
        try world.insert(6000)
        // Its last batch would end after 18 s.
        try await world.work(connections: 1, batch: 10)
        while world.record.count < 50 { try await Task.sleep(for: .milliseconds(5)) }
        await world.stopWorkers()
        #expect(try world.query("select count(*) from ferry.push") != "0")
        try await world.work()
        try await world.drain()
        #expect(try world.query(self.words) == "accepted|6000")
        #expect(world.record.doubled == 0)
        await world.end()
    }

    @Test func `A database without the tables is refused with a sentence`() async throws {
        let server = try #require(PostgresServer.shared)
        let configuration = QueueWorker.Configuration(
            postgres: server.connection(to: try server.database()),
            clients: []
        )
        let error = await #expect(throws: PostgresError.self) {
            _ = try await QueueWorker.start(configuration, upstreams: [], on: QueueWorld.loop)
        }
        #expect(error?.description.contains("ferry store init") == true)
    }

    @Test func `An answer to a row that another session has locked is written when the lock is gone`() async throws {
        let world = try await QueueWorld { $0.answerDelay = .seconds(12) }
        try world.insert(1)
        try await world.work(connections: 1)
        // The batch has ended, and its row is hidden.
        try await world.wait(for: "1", from: "select count(*) from ferry.push where due > now() + interval '30 s'")
        let other = PostgresSession(PostgresSettings(world.server.connection(to: world.database), name: "other"))
        for text in ["begin", "select id from ferry.push for update"] as [StaticString] {
            _ = try await other.send(PostgresStatement(text), within: .seconds(30))
        }
        while world.record.count == 0 { await Task.yield() }
        try await world.wait(for: "0", from: "select count(*) from ferry.outcome")
        _ = try await other.send(PostgresStatement("rollback"), within: .seconds(30))
        try await world.drain()
        #expect(try world.query(self.words) == "accepted|1")
        #expect(world.record.doubled == 0)
        other.close()
        await world.end()
    }
}
