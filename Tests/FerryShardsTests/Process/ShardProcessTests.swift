import Dispatch
import Ferry
import FerryCore
import FerryForwarding
import FerryGateway
import FerryPostgresTestSupport
import FerryShards
import FerryTesting
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
            let second = try await TestProcess(database, "gw2")
            try await second.run { _ in
                try database.query("update ferry.shard set wanted = 'gw2'")
                try await second.waitFor(shards: [0])
                #expect(first.events.all.contains(.wanted(shard: 0, by: "gw2")))
                #expect(try database.query("select owner, wanted is null from ferry.shard") == "gw2|t")
            }
        }
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
        try await first.run { process in
            try await first.waitFor(shards: [0])
            await first.apns.stop()
            let gateway = try #require(await process.gateways[0])
            let client = first.credentials.binary(host: gateway.host, port: gateway.port, outcomes: .discard)
            let provider = try BinaryProvider(client)
            var batch = PushBatch()
            try batch.append(PushNotification(Payload(alert: "Hello")), to: DeviceToken([1, 2, 3, 4]), tag: 0)
            try await provider.submit(&batch)
            while try await gateway.counts.unanswered == 0 { try await Task.sleep(for: .milliseconds(20)) }
            _ = await provider.shutDown(within: .zero)
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

    @Test func `A shard whose recovery takes long is named like one without an owner, until it is served`()
        async throws
    {
        let database = try await ShardDatabase(shards: 1)
        // Each recovery waits for this lock.
        let lock = Task { try database.query("begin; lock table ferry.habit; select pg_sleep(14); commit") }
        let locked = "select count(*) from pg_locks where relation = 'ferry.habit'::regclass and granted"
        try await database.until { try database.query(locked) == "1" }
        let process = try await TestProcess(database, "gw1")
        try await process.run { running in
            try await database.until { process.events.all.contains(.ownerless(shard: 0)) }
            #expect(await running.gateways.isEmpty)
            #expect(await running.figures.ownerless == 1)
            _ = try await lock.value
            try await process.waitFor(shards: [0])
            while await running.figures.ownerless != 0 { try await Task.sleep(for: .milliseconds(20)) }
            #expect(!process.events.all.contains { if case .refused = $0 { true } else { false } })
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
            #expect(clocks.count == 1 && clocks.allSatisfy { (60...66).contains($0) })
        }
    }

    @Test func `A database without tables, or with a later version, prevents the start with a sentence`() async throws {
        let database = try await ShardDatabase(shards: 1)
        let process = try await TestProcess(database, "gw1")
        try database.query("update ferry.meta set version = 99")
        let version = await #expect(throws: StoreError.self) { try await process.process.start() }
        #expect(version?.description.contains("install a later version of Ferry") == true)
        try database.query("drop schema ferry cascade")
        let empty = await #expect(throws: StoreError.self) { try await process.process.start() }
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
