import Dispatch
import FerryCore
import FerryGateway
import FerryMachine
import FerryPlatform
import FerryPostgres
import FerryPostgresTestSupport
import FerryShards
import NIOCore
import Testing

/// Owners of a shard against a real server. `StoreConformanceTests` has what every store promises.
@Suite(.enabled(if: PostgresServer.isAvailable), .timeLimit(.minutes(2)))
struct PostgresStoreTests {
    private static func token(_ number: UInt8) -> [UInt8] { [3] + Array("app".utf8) + [number, number] }

    @Test func `An owner has the right to forward, and gives the shard up at its end`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        _ = try await owner.store.open()
        #expect(owner.store.right.isHeld && owner.store.right.mayTell)
        #expect(try database.query("select owner, freed from ferry.shard") == "gw1|f")
        await owner.store.close()
        #expect(!owner.store.right.isHeld)
        #expect(try database.query("select freed from ferry.shard") == "t")
        #expect(
            owner.news.filter { $0 != .right(isHeld: false) } == [
                .taken, .right(isHeld: true), .over(.released(isFreed: true)),
            ]
        )
        #expect(owner.news.last == .over(.released(isFreed: true)))
    }

    @Test func `An owner that wrote nothing gives its epoch back`() async throws {
        let database = try await ShardDatabase()
        for isWriter in [false, true] {
            let owner = try TestOwner(database, "gw1")
            let epoch = try await owner.store.open().epoch
            if isWriter { #expect(await owner.commit(epoch << 40, epoch) == .durable) }
            await owner.store.close()
            #expect(try database.query("select epoch from ferry.shard") == (isWriter ? "\(epoch)" : "0"))
        }
    }

    @Test func `An owner with notifications in flight does not free its shard`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        _ = try await owner.store.open()
        owner.store.isSettled { false }
        await owner.store.close()
        #expect(try database.query("select freed from ferry.shard") == "f")
    }

    @Test func `A shard that another process owns, or whose owner was back meanwhile, is not taken`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        let late = try TestOwner(database, "gw3")
        _ = try await owner.store.open()
        let other = try TestOwner(database, "gw2")
        for store in [other.store, late.store] {
            let error = await #expect(throws: StoreError.self) { _ = try await store.open() }
            #expect(error?.isInUse == true)
            await store.close()
        }
        await owner.store.close()
        let error = await #expect(throws: StoreError.self) {
            _ = try await PostgresStore(
                .init(connection: database.connection, shard: 0, node: "gw4"),
                seen: .random(),
                on: owner.eventLoop
            ).open()
        }
        #expect(error?.isInUse == true)
    }

    @Test func `An owner whose session is ended comes back with everything`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        let epoch = try await owner.store.open().epoch
        for number in UInt64(1)...20 {
            #expect(await owner.commit(number, epoch) == .durable)
            if number.isMultiple(of: 5) { try database.endSessions(of: "gw1") }
        }
        try await database.until { owner.news.count { $0 == .returned } >= 4 && owner.store.right.isHeld }
        #expect(!owner.news.contains(.fenced))
        #expect(try await owner.store.segments(after: 0).map(\.number) == Array(1...20))

        // What PostgreSQL has is not written again.
        let versions = "select string_agg(xmin::text, ' ' order by number) from ferry.segment where number <= 20"
        let written = try database.query(versions)
        try database.endSessions(of: "gw1")
        #expect(await owner.commit(21, epoch) == .durable)
        #expect(try database.query(versions) == written)
        await owner.store.close()
    }

    @Test func `After a failover that lost commits, the owner writes them again`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        let epoch = try await owner.store.open().epoch
        let line = StoreChange(.rejections, key: [0, 0, 0, 0, 0, 0, 1, 2], value: Array(#"{"event":"rejected"}"#.utf8))
        #expect(await owner.commit(1, epoch, changes: [line]) == .durable)
        #expect(await owner.commit(2, epoch) == .durable)
        #expect(owner.store.ringLength > 0)
        try database.query("delete from ferry.segment; delete from ferry.rejection")
        try database.endSessions(of: "gw1")
        #expect(await owner.commit(3, epoch) == .durable)
        #expect(try await owner.store.segments(after: 0).map(\.number) == [1, 2, 3])
        #expect(try database.query("select job, line from ferry.rejection") == #"258|{"event": "rejected"}"#)
        await owner.store.close()
    }

    @Test func `A fenced owner hands over what the new one lacks, once`() async throws {
        let database = try await ShardDatabase()
        let old = try TestOwner(database, "gw1")
        let first = try await old.store.open()
        let base = first.epoch << 40
        #expect(await old.commit(base + 1, first.epoch) == .durable)
        let fenced = Locked(false)
        old.store.onFenced { fenced.withLock { $0 = true } }
        // A process that is stopped: its event loop does nothing.
        let pause = DispatchSemaphore(value: 0)
        old.eventLoop.execute { pause.wait() }
        try database.endSessions(of: "gw1")
        let new = try TestOwner(database, "gw2")
        let second = try await new.store.open()
        #expect(second.epoch > first.epoch && second.last == base + 1)
        new.listen()
        async let answer = old.commit(base + 2, first.epoch)
        pause.signal()
        #expect(await answer == .fenced)
        #expect(fenced.withLock { $0 } && !old.store.right.isHeld)
        try await database.until { !new.late.isEmpty }
        #expect(new.late.map(\.number) == [base + 2])
        #expect(await new.commit(second.epoch << 40 + 1, second.epoch, late: [base + 2]) == .durable)
        #expect(try database.query("select number, done from ferry.late") == "\(base + 2)|t")
        #expect(await old.commit(base + 3, first.epoch) == .fenced)
        try await database.until { new.late.count == 2 }
        try await database.until { old.news.contains(.handOverIsSafe) }
        #expect(!old.store.mayLoseHandOver)
        await old.store.close()
        #expect(old.news.last == .over(.handedOver))
        await new.store.close()
    }

    @Test func `While PostgreSQL is away, "serve" forwards from memory and tells nothing`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1", away: .serve)
        let epoch = try await owner.store.open().epoch
        try database.server.query("alter database \(database.name) allow_connections false", in: "postgres")
        try database.endSessions(of: "gw1")
        #expect(await owner.commit(1, epoch) == .durable)
        #expect(owner.store.right.isHeld && !owner.store.right.mayTell)
        #expect(await owner.commit(2, epoch) == .durable)
        try database.server.query("alter database \(database.name) allow_connections true", in: "postgres")
        try await database.until { owner.store.right.mayTell }
        #expect(await owner.commit(3, epoch) == .durable)
        #expect(try await owner.store.segments(after: 0).map(\.number) == [1, 2, 3])
        await owner.store.close()
    }

    @Test func `A shard that cannot be read for a while is not taken, and one that PostgreSQL refuses is an error`()
        async throws
    {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        _ = try await owner.store.open()
        try database.server.query("alter database \(database.name) allow_connections false", in: "postgres")
        try database.endSessions(of: "gw1")
        let away = await #expect(throws: StoreError.self) { try await owner.store.segments(after: 0) }
        #expect(away?.isInUse == true)
        try database.server.query("alter database \(database.name) allow_connections true", in: "postgres")
        try await database.until { owner.store.right.isHeld }
        try database.query("alter table ferry.segment rename to other")
        let refused = await #expect(throws: StoreError.self) { try await owner.store.segments(after: 0) }
        #expect(refused?.isInUse == false)
        await owner.store.close()
    }

    @Test func `After a refused commit, PostgreSQL takes none of those that are on their way`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        let epoch = try await owner.store.open().epoch
        #expect(await owner.commit(1, epoch) == .durable)
        try database.query("alter table ferry.segment add constraint full_disk check (number <> 2)")
        let answers = Locked<[StoreAnswer]>([])
        for number in [2, 3] as [UInt64] {
            let commit = StoreCommit(epoch: epoch, segment: StoredSegment(number: number, bytes: [1]))
            owner.store.append(commit) { answer in answers.withLock { $0.append(answer) } }
        }
        try await database.until { owner.news.contains { if case .trouble = $0 { true } else { false } } }
        #expect(try database.query("select max(number) from ferry.segment") == "1")
        try database.query("alter table ferry.segment drop constraint full_disk")
        try await database.until { answers.withLock { $0 } == [.durable, .durable] }
        #expect(try await owner.store.segments(after: 0).map(\.number) == [1, 2, 3])
        await owner.store.close()
    }

    @Test func `A refused commit is told once, however often the owner comes back`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        let epoch = try await owner.store.open().epoch
        func told() -> Int { owner.news.count { if case .trouble = $0 { true } else { false } } }
        for number in [1, 3] as [UInt64] {
            let before = (told: told(), returned: owner.news.count { $0 == .returned })
            try database.query("alter table ferry.segment add constraint full_disk check (number <> \(number))")
            async let answer = owner.commit(number, epoch)
            try await database.until { owner.news.count { $0 == .returned } >= before.returned + 2 }
            #expect(told() == before.told + 1)
            try database.query("alter table ferry.segment drop constraint full_disk")
            #expect(await answer == .durable)
            #expect(await owner.commit(number + 1, epoch) == .durable)
        }
        await owner.store.close()
    }

    // MARK: Rows

    @Test func `A line with a zero character is kept, and a line of the same notification changes nothing`()
        async throws
    {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        let epoch = try await owner.store.open().epoch
        let key: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 9]
        for (number, text) in [#"{"reason":"a\u0000b"}"#, #"{"reason":"other"}"#].enumerated() {
            let line = StoreChange(.rejections, key: key, value: Array(text.utf8))
            #expect(await owner.commit(UInt64(number + 1), epoch, changes: [line]) == .durable)
        }
        #expect(try database.query("select job, line->>'reason' from ferry.rejection") == "9|a\u{fffd}b")
        #expect(try await owner.store.rows(.rejections).map(\.key) == [key])
        await owner.store.close()
    }

    @Test func `Two readers never get the same feedback row, and commits do not wait for them`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        let epoch = try await owner.store.open().epoch
        func rows(_ numbers: [UInt8], isListed: Bool = true) -> [StoreChange] {
            numbers.map { StoreChange(.feedback, key: Self.token($0), value: isListed ? [0x80, 0, 0, $0] : nil) }
        }
        #expect(await owner.commit(1, epoch, changes: rows([1, 2])) == .durable)
        let first = try await owner.store.feedback(of: "app")
        #expect(first.rows == [1, 2].map { .init(token: [$0, $0], since: 0x8000_0000 + UInt32($0)) })
        // A new row, one that is listed again, and one that is removed while the reader has it.
        let began = ContinuousClock.now
        #expect(await owner.commit(2, epoch, changes: rows([3, 1]) + rows([2], isListed: false)) == .durable)
        // A commit that waited for the reader would wait for the end of the reader's session, after 70 s.
        #expect(ContinuousClock.now - began < .seconds(60))
        // A statement that does not pass over the reader's rows waits for it.
        #expect(throws: (any Error).self) {
            try database.query("set lock_timeout = '100ms'; update ferry.feedback set since = 0")
        }
        let second = try await owner.store.feedback(of: "app")
        #expect(second.rows.map(\.token) == [[3, 3]])
        #expect(try await owner.store.feedback(of: "other").rows.isEmpty)
        first.giveBack()
        second.read()
        try await database.until { try database.query("select count(*) from ferry.feedback") == "2" }
        let third = try await owner.store.feedback(of: "app")
        #expect(third.rows.map(\.token) == [[1, 1], [2, 2]])
        third.read()
        third.giveBack()
        try await database.until { try database.query("select count(*) from ferry.feedback") == "0" }
        await owner.store.close()
    }

    @Test func `A feedback row that is removed and added in one commit has the new time`() async throws {
        let database = try await ShardDatabase()
        let owner = try TestOwner(database, "gw1")
        let epoch = try await owner.store.open().epoch
        func row(_ value: [UInt8]?) -> StoreChange { StoreChange(.feedback, key: Self.token(1), value: value) }
        #expect(await owner.commit(1, epoch, changes: [row([0, 0, 0, 1])]) == .durable)
        #expect(await owner.commit(2, epoch, changes: [row(nil), row([0, 0, 0, 2])]) == .durable)
        let claim = try await owner.store.feedback(of: "app")
        #expect(claim.rows.map(\.since) == [2])
        claim.giveBack()
        await owner.store.close()
    }
}
