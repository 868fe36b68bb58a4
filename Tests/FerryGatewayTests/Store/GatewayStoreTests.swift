import FerrySQLite
import Synchronization
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import FerryGateway

/// What single kinds of stores promise beside ``StoreConformanceTests``.
@Suite struct GatewayStoreTests {
    private func commit(
        _ number: UInt64,
        _ bytes: [UInt8] = [1],
        epoch: UInt64 = 1,
        changes: [StoreChange] = [],
        drops: [UInt64] = []
    ) -> StoreCommit {
        StoreCommit(epoch: epoch, segment: .init(number: number, bytes: bytes), changes: changes, drops: drops)
    }

    @Test func `an owner whose store another process has taken without a lock writes nothing more`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let store = shelf.store()
            let epoch = try await store.open().epoch
            #expect(await StoreShelf.append(self.commit(1, epoch: epoch), to: store) == .durable)
            // A process on a file system without locks leaves this, when it opens the store.
            try HighWaterMark(path: "\(shelf.path)-mark").take()
            #expect(await StoreShelf.append(self.commit(2, epoch: epoch), to: store) == .fenced)
            #expect(await StoreShelf.append(self.commit(2, epoch: epoch), to: store) == .fenced)
            // The log is the other process's. Without it, its last commits would be lost.
            await store.close()
            #expect(FileManager.default.fileExists(atPath: "\(shelf.path)-wal"))
            let next = shelf.store()
            let opening = try await next.open()
            #expect(try await StoreShelf.segments(next).map(\.number) == [1])
            #expect(await StoreShelf.append(self.commit(2, epoch: opening.epoch), to: next) == .durable)
            await next.close()
            #expect(!FileManager.default.fileExists(atPath: "\(shelf.path)-wal"))
        }
    }

    @Test func `an owner that ends before it commits again leaves the log to the process that has taken its store`()
        async throws
    {
        try await StoreShelf.with(.sqlite) { shelf in
            let store = shelf.store()
            let epoch = try await store.open().epoch
            #expect(await StoreShelf.append(self.commit(1, epoch: epoch), to: store) == .durable)
            try HighWaterMark(path: "\(shelf.path)-mark").take()
            await store.close()
            #expect(FileManager.default.fileExists(atPath: "\(shelf.path)-wal"))
        }
    }

    @Test func `two names of a store, by a symbolic link, have one mark`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let folder = shelf.directory.appending(path: "links")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let link = folder.appending(path: "link.db").path
            // The first start makes the file to which the link leads.
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: shelf.path)
            let first = SQLiteStore(path: link)
            let epoch = try await first.open().epoch
            #expect(await StoreShelf.append(self.commit(1, epoch: epoch), to: first) == .durable)
            try shelf.loseLock()
            let second = shelf.store()
            _ = try await second.open()
            #expect(await StoreShelf.append(self.commit(2, epoch: epoch), to: first) == .fenced)
            await first.close()
            await second.close()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["link.db"])
        }
    }

    @Test(arguments: ["lost", "damaged"]) func `a start that fails leaves the log to a process without a lock`(
        _ fault: String
    ) async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let store = shelf.store()
            let epoch = try await store.open().epoch
            #expect(await StoreShelf.append(self.commit(1, epoch: epoch), to: store) == .durable)
            try shelf.loseLock()
            if fault == "lost" {
                try HighWaterMark(path: "\(shelf.path)-mark").advance(to: 9)
            } else {
                try Data([1]).write(to: URL(filePath: "\(shelf.path)-mark"))
            }
            let second = shelf.store()
            let error = await #expect(throws: StoreError.self) { try await second.open() }
            #expect(error?.description.contains("\(fault)") == true)
            await second.close()
            #expect(FileManager.default.fileExists(atPath: "\(shelf.path)-wal"))
            await store.close()
        }
    }

    @Test func `a start finds what a process without a lock commits until it knows of the start`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let first = shelf.store()
            let epoch = try await first.open().epoch
            #expect(await StoreShelf.append(self.commit(1, epoch: epoch), to: first) == .durable)
            await first.close()
            let other = try SQLiteDatabase(path: shelf.path, durability: .process)
            let mark = HighWaterMark(path: "\(shelf.path)-mark")
            try mark.take()
            func write(_ number: Int) throws {
                try other.execute("INSERT INTO segments VALUES (\(number), x'01'); UPDATE store SET last = \(number)")
                try mark.advance(to: UInt64(number))
            }
            try write(2)
            try shelf.loseLock()
            var late: [Result<Void, any Error>] = []
            let core = SQLiteStoreCore(
                path: shelf.path,
                durability: .process,
                waitForCommit: {
                    #expect(mark.isTaken)
                    // It had begun before.
                    late.append(Result { try write(3) })
                },
                warn: { Issue.record("\($0)") }
            )
            let opening = try core.open()
            for result in late { try result.get() }
            #expect(late.count == 1 && opening.last == 3)
            #expect(core.append(self.commit(4, epoch: opening.epoch)) == .durable)
            other.keepLogAtClose()
            core.close()
            let next = shelf.store()
            _ = try await next.open()
            #expect(try await StoreShelf.segments(next).map(\.number) == [1, 2, 3, 4])
            await next.close()
        }
    }

    @Test func `of two starts at the same time, the one whose mark was replaced tries again`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let first = shelf.store()
            _ = try await first.open()
            await first.close()
            // The log has something, so that the start waits.
            let other = try SQLiteDatabase(path: shelf.path, durability: .process)
            try other.execute("UPDATE store SET last = 1")
            try shelf.loseLock()
            var isMarked = false
            let core = SQLiteStoreCore(
                path: shelf.path,
                durability: .process,
                waitForCommit: { isMarked = (try? HighWaterMark(path: "\(shelf.path)-mark").take()) != nil },
                warn: { Issue.record("\($0)") }
            )
            let error = #expect(throws: StoreError.self) { try core.open() }
            #expect(isMarked && error?.isInUse == true)
            other.keepLogAtClose()
        }
    }

    @Test func `after a refusal, later commits wait until the first is repeated`() async {
        let store = MemoryStore()
        _ = store.take()
        store.fail("The disk is full.")
        #expect(await StoreShelf.append(self.commit(1), to: store) == .unavailable("The disk is full."))
        store.fail(nil)
        #expect(await StoreShelf.append(self.commit(2), to: store) == .unavailable("The disk is full."))
        #expect(await StoreShelf.append(self.commit(1), to: store) == .durable)
        #expect(await StoreShelf.append(self.commit(2), to: store) == .durable)
    }

    // MARK: The mark of an earlier release

    /// The places where a store and a symbolic link to it may have their marks.
    enum EarlierMark: CaseIterable {
        /// The only mark is beside the link.
        case alone
        /// The store has a mark, too.
        case second
        /// The only mark is beside the link, on another file system.
        case elsewhere

        static let possible = Self.allCases.filter { $0 != .elsewhere || StoreCopyTests.elsewhere != nil }
    }

    /// A store with the commit 1, and a symbolic link to it with the mark of an earlier release beside it.
    private func withEarlierMark(
        _ kind: EarlierMark,
        _ body: (_ link: String, _ markOfStore: String, _ earlier: HighWaterMark) async throws -> Void
    ) async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let store = shelf.store()
            let epoch = try await store.open().epoch
            #expect(await StoreShelf.append(self.commit(1, epoch: epoch), to: store) == .durable)
            await store.close()
            let disk = kind == .elsewhere ? StoreCopyTests.elsewhere.map { URL(filePath: $0) } : nil
            let folder = (disk ?? shelf.directory).appending(path: "ferry-links-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(at: folder) }
            let link = folder.appending(path: "link.db").path
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: shelf.path)
            try FileManager.default.copyItem(atPath: "\(shelf.path)-mark", toPath: "\(link)-mark")
            if kind != .second { try FileManager.default.removeItem(atPath: "\(shelf.path)-mark") }
            try await body(link, "\(shelf.path)-mark", HighWaterMark(path: "\(link)-mark"))
        }
    }

    @Test(arguments: EarlierMark.possible)
    func `a process of an earlier release finds its successor by the mark beside a symbolic link`(
        _ kind: EarlierMark
    ) async throws {
        try await self.withEarlierMark(kind) { link, markOfStore, earlier in
            try earlier.take()
            let store = SQLiteStore(path: link) { Issue.record("\($0)") }
            let epoch = try await store.open().epoch
            #expect(earlier.isTaken)
            #expect(!FileManager.default.fileExists(atPath: "\(link)-mark"))
            #expect(await StoreShelf.append(self.commit(2, epoch: epoch), to: store) == .durable)
            await store.close()
            #expect(try HighWaterMark.contents(of: link).map(\.number) == [2])
            #expect(FileManager.default.fileExists(atPath: markOfStore))
        }
    }

    @Test(arguments: EarlierMark.possible)
    func `commits of which the mark beside a symbolic link tells, and that are gone, prevent the start`(
        _ kind: EarlierMark
    ) async throws {
        try await self.withEarlierMark(kind) { link, markOfStore, earlier in
            try earlier.advance(to: 9)
            let copying = await #expect(throws: StoreError.self) {
                try await SQLiteStore.copy(storeAt: link, to: "\(markOfStore).copy")
            }
            #expect(copying?.description.contains("it ends with commit 1, and 9 was acknowledged") == true)
            #expect(FileManager.default.fileExists(atPath: "\(link)-mark"))
            // The second start has one mark.
            for _ in 1...2 {
                let store = SQLiteStore(path: link)
                let error = await #expect(throws: StoreError.self) { try await store.open() }
                #expect(error?.description.contains("it ends with 1, and 9 was acknowledged") == true)
                #expect(error?.description.hasSuffix("remove \(markOfStore).") == true)
                await store.close()
            }
            try FileManager.default.removeItem(atPath: markOfStore)
            let store = SQLiteStore(path: link)
            _ = try await store.open()
            await store.close()
        }
    }

    @Test func `an older number beside a symbolic link leaves the number of the store's mark`() async throws {
        try await self.withEarlierMark(.second) { link, markOfStore, earlier in
            try HighWaterMark(path: markOfStore).advance(to: 9)
            let store = SQLiteStore(path: link)
            let error = await #expect(throws: StoreError.self) { try await store.open() }
            #expect(error?.description.contains("it ends with 1, and 9 was acknowledged") == true)
            await store.close()
        }
    }

    @Test func `a damaged mark beside a symbolic link is named, and stays`() async throws {
        try await self.withEarlierMark(.second) { link, _, _ in
            try Data([1]).write(to: URL(filePath: "\(link)-mark"))
            let store = SQLiteStore(path: link)
            let error = await #expect(throws: StoreError.self) { try await store.open() }
            #expect(error?.description.contains("\(link)-mark is damaged. To go on without it, remove it.") == true)
            #expect(FileManager.default.fileExists(atPath: "\(link)-mark"))
            await store.close()
        }
    }

    @Test func `a symbolic link to the folder of a store leads to its one mark, which stays`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let folder = shelf.directory.appending(path: "folder")
            try FileManager.default.createSymbolicLink(atPath: folder.path, withDestinationPath: shelf.directory.path)
            for number in UInt64(1)...2 {
                let store = SQLiteStore(path: folder.appending(path: "gateway.db").path) { Issue.record("\($0)") }
                let epoch = try await store.open().epoch
                #expect(await StoreShelf.append(self.commit(number, epoch: epoch), to: store) == .durable)
                await store.close()
                #expect(try HighWaterMark.contents(of: shelf.path).map(\.number) == [number])
            }
        }
    }

    // MARK: Files

    @Test func `a second gateway is told that the store is in use`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let first = shelf.store()
            _ = try await first.open()
            let second = shelf.store()
            let error = await #expect(throws: StoreError.self) { try await second.open() }
            #expect(error?.description.contains("another process uses it") == true)
            await second.close()
            #expect(await StoreShelf.append(self.commit(1), to: first) == .durable)
            await first.close()
        }
    }

    @Test func `commits that were acknowledged and are gone prevent the start`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let first = shelf.store()
            _ = try await first.open()
            #expect(await StoreShelf.append(self.commit(1), to: first) == .durable)
            await first.close()
            let old = try Data(contentsOf: URL(filePath: shelf.path))
            let second = shelf.store()
            let epoch = try await second.open().epoch
            #expect(await StoreShelf.append(self.commit(2, epoch: epoch), to: second) == .durable)
            await second.close()
            try old.write(to: URL(filePath: shelf.path))
            let third = shelf.store()
            let error = await #expect(throws: StoreError.self) { try await third.open() }
            #expect(error?.description.contains("has lost its last commits") == true)
            #expect(error?.description.contains("If this file is a copy, put its own mark beside it.") == true)
            await third.close()
            try FileManager.default.removeItem(atPath: "\(shelf.path)-mark")
            let fourth = shelf.store()
            _ = try await fourth.open()
            #expect(try await StoreShelf.segments(fourth).map(\.number) == [1])
            await fourth.close()
        }
    }

    @Test func `a missing mark is reported, unless the store is new`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let warnings = Mutex<[String]>([])
            func store() -> SQLiteStore {
                SQLiteStore(path: shelf.path) { warning in warnings.withLock { $0.append(warning) } }
            }
            let first = store()
            let epoch = try await first.open().epoch
            #expect(await StoreShelf.append(self.commit(1, epoch: epoch), to: first) == .durable)
            await first.close()
            let second = store()
            _ = try await second.open()
            await second.close()
            #expect(warnings.withLock { $0 } == [])
            try FileManager.default.removeItem(atPath: "\(shelf.path)-mark")
            let third = store()
            _ = try await third.open()
            await third.close()
            let said = warnings.withLock { $0 }
            #expect(said.count == 1)
            #expect(said.first?.contains("gateway.db-mark was missing, and is made anew.") == true, "\(said)")
        }
    }

    @Test func `a store of the last release is taken, with everything in it`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let first = shelf.store()
            let opening = try await first.open()
            let row = StoreChange(.feedback, key: [1], value: [2])
            #expect(await StoreShelf.append(self.commit(1, changes: [row]), to: first) == .durable)
            await first.close()
            // The last release had the same tables under this number.
            do {
                let database = try SQLiteDatabase(path: shelf.path, durability: .process)
                try database.execute("PRAGMA user_version = 1")
            }
            let second = shelf.store()
            let again = try await second.open()
            #expect(again.node == opening.node && again.hashKey == opening.hashKey && again.epoch == 2)
            #expect(try await StoreShelf.segments(second).map(\.number) == [1])
            #expect(try await second.rows(.feedback) == [StoreRow(key: [1], value: [2])])
            await second.close()
            let database = try SQLiteDatabase(path: shelf.path, durability: .process)
            var version: Int64 = 0
            try database.prepare("PRAGMA user_version").run { row in version = row.integer(0) }
            #expect(version == 2)
        }
    }

    @Test func `a file that was removed takes nothing more, and says so until it is back`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            let store = shelf.store()
            _ = try await store.open()
            #expect(await StoreShelf.append(self.commit(1), to: store) == .durable)
            try FileManager.default.moveItem(atPath: shelf.path, toPath: "\(shelf.path).away")
            let reason =
                "The store's file \(shelf.path) was removed or replaced while it was open. Put it back, or start anew."
            #expect(await StoreShelf.append(self.commit(2), to: store) == .unavailable(reason))
            try FileManager.default.moveItem(atPath: "\(shelf.path).away", toPath: shelf.path)
            #expect(await StoreShelf.append(self.commit(2), to: store) == .durable)
            await store.close()
        }
    }

    @Test func `a damaged file is named`() async throws {
        try await StoreShelf.with(.sqlite) { shelf in
            try Data(repeating: 65, count: 50_000).write(to: URL(filePath: shelf.path))
            let store = shelf.store()
            let error = await #expect(throws: StoreError.self) { try await store.open() }
            #expect(error?.description.contains("gateway.db: it is damaged, or no database") == true)
            #expect(error?.description.contains("gateway.db-mark away to begin anew") == true)
            #expect(error?.description.contains("are then lost") == true)
            await store.close()
        }
    }
}
