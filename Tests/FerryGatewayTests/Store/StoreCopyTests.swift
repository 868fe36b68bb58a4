import FerryCore
import FerrySQLite
import Foundation
import NIOCore
import Testing

@testable import FerryGateway

/// Copies of a store that is in use.
@Suite(.timeLimit(.minutes(5))) struct StoreCopyTests {
    /// A directory with a store and its copies.
    private struct Shelf: Sendable {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)")

        var path: String { self.directory.appending(path: "gateway.db").path }
        var copy: String { self.directory.appending(path: "copy.db").path }
        var names: Set<String> {
            Set((try? FileManager.default.contentsOfDirectory(atPath: self.directory.path)) ?? [])
        }
        var size: Int { ((try? FileManager.default.attributesOfItem(atPath: self.copy))?[.size] as? Int) ?? 0 }
    }

    /// The folder of a file system that is not the one of the shelves; nil if this machine has none.
    static let elsewhere: String? = {
        let here = CopyFiles.device(of: FileManager.default.temporaryDirectory.path)
        return CopyFiles.device(of: "/dev/shm").flatMap { $0 == here ? nil : "/dev/shm" }
    }()

    private static func withShelf(_ body: (Shelf) async throws -> Void) async throws {
        let shelf = Shelf()
        try FileManager.default.createDirectory(at: shelf.directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: shelf.directory) }
        try await body(shelf)
    }

    @discardableResult
    private static func append(
        _ number: UInt64,
        _ bytes: [UInt8] = [1],
        epoch: UInt64 = 1,
        changes: [StoreChange] = [],
        drops: [UInt64] = [],
        to store: SQLiteStore
    ) async -> StoreAnswer {
        await withCheckedContinuation { continuation in
            let segment = StoredSegment(number: number, bytes: bytes)
            store.append(StoreCommit(epoch: epoch, segment: segment, changes: changes, drops: drops)) {
                continuation.resume(returning: $0)
            }
        }
    }

    private static func numbers(_ store: SQLiteStore) async throws -> [UInt64] {
        var numbers: [UInt64] = []
        while true {
            let page = try await store.segments(after: numbers.last ?? 0)
            guard !page.isEmpty else { return numbers }
            numbers += page.map(\.number)
        }
    }

    @Test func `a copy has everything, says that it is one, and is for its owner alone`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            let opening = try await store.open()
            await Self.append(7, changes: [StoreChange(.feedback, key: [1], value: [2])], to: store)
            let copy = try await store.copy(to: shelf.copy)
            #expect(copy.path == shelf.copy && copy.bytes == shelf.size && copy.copiedAt > 1_700_000_000)
            #expect(shelf.names == ["gateway.db", "gateway.db-wal", "gateway.db-mark", "copy.db", "copy.db-mark"])
            for name in ["copy.db", "copy.db-mark"] {
                let file = shelf.directory.appending(path: name).path
                let attributes = try FileManager.default.attributesOfItem(atPath: file)
                #expect((attributes[.posixPermissions] as? Int) == 0o600, "\(name)")
            }
            // The store itself goes on, and is no copy.
            #expect(await Self.append(8, to: store) == .durable)
            #expect(try await store.rows(.copy).isEmpty)
            let copied = SQLiteStore(path: shelf.copy) { Issue.record("\($0)") }
            let again = try await copied.open()
            #expect(again.node == opening.node && again.hashKey == opening.hashKey)
            // A start with the store itself does not reach this epoch soon.
            let ahead = CopyFiles.epochsAhead
            #expect(again.epoch > opening.epoch + ahead.lowerBound)
            #expect(again.epoch <= opening.epoch + ahead.upperBound)
            #expect(try await Self.numbers(copied) == [7])
            #expect(try await copied.rows(.feedback) == [StoreRow(key: [1], value: [2])])
            #expect(again.last == 7)
            #expect(try await copied.rows(.copy).compactMap { CopyRow.time($0, last: 7) } == [copy.copiedAt])
            await copied.close()
            await store.close()
        }
    }

    @Test func `a copy ends while commits go on, and has each one that was acknowledged before`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            // 30 MB, so that a copy takes many steps.
            for number in UInt64(1)...300 {
                await Self.append(number, [UInt8](repeating: UInt8(number & 255), count: 100_000), to: store)
            }
            let isCopied = Locked(false)
            let copying = Task {
                defer { isCopied.withLock { $0 = true } }
                return try await store.copy(to: shelf.copy)
            }
            // The commits of a gateway drop old segments, whose pages were copied first.
            var number: UInt64 = 300
            while !isCopied.withLock({ $0 }) {
                number += 1
                let answer = await Self.append(
                    number,
                    [UInt8](repeating: UInt8(number & 255), count: 20_000),
                    drops: number.isMultiple(of: 3) && number < 600 ? [number - 300] : [],
                    to: store
                )
                #expect(answer == .durable)
            }
            let copy = try await copying.value
            #expect(copy.bytes > 20_000_000)
            await store.close()
            let copied = SQLiteStore(path: shelf.copy) { Issue.record("\($0)") }
            _ = try await copied.open()
            let numbers = try await Self.numbers(copied)
            let last = try #require(numbers.last)
            #expect(last >= 300 && last <= number)
            // What the copy has is the store at one moment: everything up to one commit, and nothing of later ones.
            let drops = (UInt64(1)...last).filter { $0 > 300 && $0.isMultiple(of: 3) && $0 < 600 }.map { $0 - 300 }
            #expect(numbers == (1...last).filter { !drops.contains($0) })
            for segment in try await copied.segments(after: last - 1) {
                #expect(segment.bytes.allSatisfy { $0 == UInt8(last & 255) })
            }
            await copied.close()
        }
    }

    @Test func `a copy replaces no file, and nothing is left of it`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            let before = shelf.names
            for path in [shelf.path, "\(shelf.directory.path)/none/copy.db", shelf.directory.path] {
                let error = await #expect(throws: StoreError.self) { try await store.copy(to: path) }
                #expect(error?.description.hasPrefix(path) == true, "\(String(describing: error))")
            }
            #expect(shelf.names == before)
            try Data([1]).write(to: URL(filePath: "\(shelf.copy)-mark"))
            let error = await #expect(throws: StoreError.self) { try await store.copy(to: shelf.copy) }
            #expect(error?.description == "\(shelf.copy)-mark exists already: name a file that does not exist.")
            #expect(shelf.names == before.union(["copy.db-mark"]))
            await store.close()
        }
    }

    @Test(.enabled(if: StoreCopyTests.elsewhere != nil))
    func `a store in use is copied within its file system only, because another disk could hang`() async throws {
        let folder = try #require(Self.elsewhere)
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            let copy = "\(folder)/ferry-\(UUID().uuidString).db"
            defer { for name in [copy, "\(copy)-mark"] { try? FileManager.default.removeItem(atPath: name) } }
            let error = await #expect(throws: StoreError.self) { try await store.copy(to: copy) }
            #expect(error?.description.hasPrefix("\(copy) is not on the file system of the store") == true)
            await store.close()
            // No commit waits for a copy that is made without a gateway.
            #expect(try await SQLiteStore.copy(storeAt: shelf.path, to: copy).path == copy)
        }
    }

    @Test(.enabled(if: StoreCopyTests.elsewhere != nil))
    func `a store behind a link is copied within the file system to which the link leads`() async throws {
        let folder = try #require(Self.elsewhere)
        let link = "\(folder)/ferry-\(UUID().uuidString).db"
        defer { for name in [link, "\(link)-mark"] { try? FileManager.default.removeItem(atPath: name) } }
        try await Self.withShelf { shelf in
            let first = SQLiteStore(path: shelf.path)
            _ = try await first.open()
            await first.close()
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: shelf.path)
            let store = SQLiteStore(path: link)
            _ = try await store.open()
            #expect(try await store.copy(to: shelf.copy).path == shelf.copy)
            await store.close()
        }
    }

    @Test func `a folder that does not exist, and one without the right to write, have sentences of their own`()
        async throws
    {
        try await Self.withShelf { shelf in
            let claim = CopyClaim(size: 0, epoch: 1, device: nil)
            for folder in ["\(shelf.directory.path)/none", "/dev/null"] {
                let error = #expect(throws: StoreError.self) { try CopyFiles("\(folder)/copy.db").prepare(claim) }
                let reason = "there is no folder \(folder). Make it, or name another one."
                #expect(error?.description == "\(folder)/copy.db cannot be written: \(reason)")
            }
            let closed = shelf.directory.appending(path: "closed").path
            try FileManager.default.createDirectory(
                atPath: closed,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o500]
            )
            // Root may write everywhere.
            guard !FileManager.default.isWritableFile(atPath: closed) else { return }
            let error = #expect(throws: StoreError.self) { try CopyFiles("\(closed)/copy.db").prepare(claim) }
            #expect(error?.description.hasSuffix("and needs the right to write in \(closed).") == true)
        }
    }

    @Test func `a copy demands room for the log, and for what the store grows meanwhile`() async throws {
        try await Self.withShelf { shelf in
            #expect(CopyFiles.room(for: 640 << 20) == UInt64((640 + 16 + 64) << 20))
            let claim = CopyClaim(size: .max, epoch: 1, device: nil)
            let error = #expect(throws: StoreError.self) { try CopyFiles(shelf.copy).prepare(claim) }
            #expect(error?.description.contains("needs \(CopyFiles.room(for: .max)) free bytes") == true)
        }
    }

    @Test func `the draft of a process that was killed makes room`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            for name in ["copy.db.ferry-draft", "copy.db.ferry-draft-mark"] {
                try Data([1]).write(to: shelf.directory.appending(path: name))
            }
            _ = try await store.copy(to: shelf.copy)
            #expect(shelf.names.isDisjoint(with: ["copy.db.ferry-draft", "copy.db.ferry-draft-mark"]))
            await store.close()
        }
    }

    @Test func `the mark of a process that was killed before its copy had a name makes room`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            for name in ["copy.db.ferry-draft", "copy.db-mark"] {
                try Data([1]).write(to: shelf.directory.appending(path: name))
            }
            _ = try await store.copy(to: shelf.copy)
            #expect(shelf.names == ["gateway.db", "gateway.db-wal", "gateway.db-mark", "copy.db", "copy.db-mark"])
            await store.close()
            let copied = SQLiteStore(path: shelf.copy) { Issue.record("\($0)") }
            _ = try await copied.open()
            await copied.close()
        }
    }

    @Test func `the end of the store removes half of a copy`() async throws {
        try await Self.withShelf { shelf in
            let core = SQLiteStoreCore(path: shelf.path, durability: .process) { Issue.record("\($0)") }
            _ = try core.open()
            #expect(try core.claimCopy(CopyFiles(shelf.copy)).size > 0)
            try core.beginCopy()
            let step = try core.stepCopy(pages: 1)
            #expect(step != .whole(at: 0) && shelf.names.contains("copy.db.ferry-draft"))
            core.close()
            #expect(shelf.names == ["gateway.db", "gateway.db-mark"])
            #expect(throws: StoreError.self) { _ = try core.stepCopy(pages: 1) }
        }
    }

    @Test func `a store that was closed is not copied`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            await store.close()
            let error = await #expect(throws: StoreError.self) { try await store.copy(to: shelf.copy) }
            #expect(error?.description == "The store is closed.")
            #expect(shelf.names == ["gateway.db", "gateway.db-mark"])
        }
    }

    @Test func `a store that no process has is free again as soon as its pages are copied`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            await store.close()
            let core = SQLiteStoreCore(path: shelf.path, durability: .process) { Issue.record("\($0)") }
            try core.openForCopy()
            #expect(try !core.claimCopy(CopyFiles(shelf.copy)).isInUse)
            try core.beginCopy()
            while case .more = try core.stepCopy(pages: 1) {
                #expect(throws: SQLiteError.self) { _ = try SQLiteDatabase(path: shelf.path, durability: .process) }
            }
            // The end of the copy may take minutes.
            _ = try SQLiteDatabase(path: shelf.path, durability: .process)
            core.close()
        }
    }

    /// A store that this process opens for a copy alone, and another process that has it although nobody has its lock, as on
    /// a file system without locks.
    private static func withOther(
        _ body: (
            Shelf,
            _ makeCore: (_ waitForCommit: @escaping () -> Void) -> SQLiteStoreCore,
            _ write: @escaping (Int) throws -> Void
        ) async throws -> Void
    ) async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            await Self.append(1, to: store)
            await store.close()
            let other = try SQLiteDatabase(path: shelf.path, durability: .process)
            defer { other.keepLogAtClose() }
            let mark = HighWaterMark(path: "\(shelf.path)-mark")
            try mark.take()
            func write(_ number: Int) throws {
                try other.execute("INSERT INTO segments VALUES (\(number), x'01'); UPDATE store SET last = \(number)")
                try mark.advance(to: UInt64(number))
            }
            try write(2)
            try FileManager.default.copyItem(atPath: shelf.path, toPath: "\(shelf.path).other")
            try FileManager.default.removeItem(atPath: shelf.path)
            try FileManager.default.moveItem(atPath: "\(shelf.path).other", toPath: shelf.path)
            try await body(
                shelf,
                { waitForCommit in
                    SQLiteStoreCore(path: shelf.path, durability: .process, waitForCommit: waitForCommit) {
                        Issue.record("\($0)")
                    }
                },
                write
            )
            #expect(!mark.isTaken)
        }
    }

    @Test func `a copy without a gateway changes nothing in the mark`() async throws {
        try await Self.withOther { shelf, makeCore, _ in
            // The other process is between a commit and its mark.
            try HighWaterMark(path: "\(shelf.path)-mark").advance(to: 1)
            let before = try Data(contentsOf: URL(filePath: "\(shelf.path)-mark"))
            let core = makeCore({})
            try core.openForCopy()
            _ = try core.claimCopy(CopyFiles(shelf.copy))
            try core.beginCopy()
            while case .more = try core.stepCopy(pages: 1) {}
            core.close()
            #expect(try Data(contentsOf: URL(filePath: "\(shelf.path)-mark")) == before)
        }
    }

    @Test(arguments: [false, true])
    func `a copy of a store to which another process commits is refused, and names that`(
        _ commitsAtTheEnd: Bool
    ) async throws {
        try await Self.withOther { shelf, makeCore, write in
            var failures: [any Error] = []
            let core = makeCore {
                guard commitsAtTheEnd else { return }
                do { try write(3) } catch { failures.append(error) }
            }
            try core.openForCopy()
            _ = try core.claimCopy(CopyFiles(shelf.copy))
            try core.beginCopy()
            if !commitsAtTheEnd { try write(3) }
            let error = #expect(throws: StoreError.self) { while case .more = try core.stepCopy(pages: 1) {} }
            #expect(error?.isInUse == true)
            #expect(error?.description == "Another process writes the store \(shelf.path). Copy it with that process.")
            #expect(failures.isEmpty)
            core.close()
        }
    }

    @Test func `a copy of a store whose last commits are not seen gives no advice to remove the mark of a gateway`()
        async throws
    {
        try await Self.withOther { shelf, makeCore, _ in
            try HighWaterMark(path: "\(shelf.path)-mark").advance(to: 9)
            let error = #expect(throws: StoreError.self) { try makeCore({}).openForCopy() }
            #expect(error?.description.contains("it ends with commit 2, and 9 was acknowledged") == true)
            #expect(error?.description.contains("copy it with that gateway") == true)
            #expect(error?.description.contains("remove") == false)
        }
    }

    @Test func `a copy advises against the removal of a damaged mark alone`() async throws {
        try await Self.withShelf { shelf in
            let mark = URL(filePath: "\(shelf.path)-mark")
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            func fault() async throws -> StoreError {
                let error = await #expect(throws: StoreError.self) {
                    try await SQLiteStore.copy(storeAt: shelf.path, to: shelf.copy)
                }
                return try #require(error)
            }
            try Data([1]).write(to: mark)
            // A store in use says so, whatever its mark has.
            #expect(try await fault().isInUse)
            await store.close()
            #expect(try await fault().description.hasSuffix("leave the mark, and copy with that gateway."))
            try FileManager.default.removeItem(at: mark)
            try FileManager.default.createDirectory(at: mark, withIntermediateDirectories: false)
            #expect(try await fault().description == "The store's mark \(mark.path) cannot be read: Is a directory.")
        }
    }

    @Test func `a copy of a store that cannot be opened says so, whatever its mark has`() async throws {
        try await Self.withShelf { shelf in
            for path in [shelf.path, "\(shelf.path)-mark"] {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            }
            let error = await #expect(throws: StoreError.self) {
                try await SQLiteStore.copy(storeAt: shelf.path, to: shelf.copy)
            }
            #expect(error?.description.hasPrefix("The store cannot be used. \(shelf.path): Is a directory") == true)
        }
    }

    @Test func `a store whose copy would have no numbers of its own is not copied`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            await store.close()
            for (epoch, isCopied) in [(CopyFiles.lastEpoch + 1, false), (CopyFiles.lastEpoch, true)] {
                do {
                    let database = try SQLiteDatabase(path: shelf.path, durability: .process)
                    try database.execute("UPDATE store SET epoch = \(epoch)")
                }
                guard isCopied else {
                    let error = await #expect(throws: StoreError.self) {
                        try await SQLiteStore.copy(storeAt: shelf.path, to: shelf.copy)
                    }
                    #expect(error?.description.contains("a copy would have no apns-ids of its own") == true)
                    #expect(shelf.names == ["gateway.db", "gateway.db-wal", "gateway.db-mark"])
                    continue
                }
                _ = try await SQLiteStore.copy(storeAt: shelf.path, to: shelf.copy)
            }
            let copied = SQLiteStore(path: shelf.copy)
            let opening = try await copied.open()
            // The gateway can still start with the copy some thousand times.
            #expect(opening.epoch + CopyFiles.epochsAhead.upperBound <= Journal.epochs.upperBound)
            await copied.close()
        }
    }

    @Test func `the last number of the last epoch is whole in an apns-id, and positive in SQLite`() {
        let last = Journal.firstNumber(of: Journal.epochs.upperBound) - 1
        let id = APNSID(node: 1, number: last)
        #expect(Letter.job(ofKey: Letter.key(of: id)).rawValue == last)
        #expect(Int64(bitPattern: last) > 0)
    }

    @Test func `a store that no process has is copied as it is`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            let opening = try await store.open()
            await Self.append(7, to: store)
            await store.close()
            do {
                let database = try SQLiteDatabase(path: shelf.path, durability: .process)
                try database.execute("PRAGMA user_version = 1")
            }
            _ = try await SQLiteStore.copy(storeAt: shelf.path, to: shelf.copy)
            // The log is empty.
            #expect(shelf.names == ["gateway.db", "gateway.db-wal", "gateway.db-mark", "copy.db", "copy.db-mark"])
            do {
                // The last release can still take both.
                for path in [shelf.path, shelf.copy] {
                    var version: Int64 = 0
                    try SQLiteDatabase(path: path, durability: .process).prepare("PRAGMA user_version").run { row in
                        version = row.integer(0)
                    }
                    #expect(version == 1)
                }
            }
            let again = SQLiteStore(path: shelf.path) { Issue.record("\($0)") }
            #expect(try await again.open().epoch == opening.epoch + 1)
            let error = await #expect(throws: StoreError.self) {
                try await SQLiteStore.copy(storeAt: shelf.path, to: "\(shelf.copy)2")
            }
            #expect(error?.isInUse == true)
            await again.close()
            let none = await #expect(throws: StoreError.self) {
                try await SQLiteStore.copy(storeAt: "\(shelf.path)2", to: "\(shelf.copy)2")
            }
            #expect(none?.description.contains("There is no store at") == true)
            #expect(!shelf.names.contains("gateway.db2"))
        }
    }

    @Test func `a copy leaves the log to a gateway that has the store without a lock`() async throws {
        try await Self.withShelf { shelf in
            let store = SQLiteStore(path: shelf.path)
            _ = try await store.open()
            await Self.append(7, to: store)
            // On a file system without locks, the files of a gateway that runs look like these.
            let shared = shelf.directory.appending(path: "shared.db").path
            for ending in ["", "-wal", "-mark"] {
                try FileManager.default.copyItem(atPath: "\(shelf.path)\(ending)", toPath: "\(shared)\(ending)")
            }
            let files = ["", "-wal"].map { FileManager.default.contents(atPath: "\(shared)\($0)") }
            _ = try await SQLiteStore.copy(storeAt: shared, to: shelf.copy)
            #expect(["", "-wal"].map { FileManager.default.contents(atPath: "\(shared)\($0)") } == files)
            let copied = SQLiteStore(path: shelf.copy) { Issue.record("\($0)") }
            #expect(try await copied.open().last == 7)
            await copied.close()
            await store.close()
        }
    }

    @Test func `the first start with a copy knows it, and the next one does not`() throws {
        let scene = try GatewayStoreScene()
        scene.push([1], 1, on: scene.connect())
        let id = scene.sent.first?.notification.apnsID
        let note = StoreChange(.copy, key: CopyRow.key, value: CopyRow.value(at: 1_699_999_000, epoch: 1))
        scene.store.damage(note)
        #expect(scene.machine.copiedAt == nil)
        try scene.kill()
        #expect(scene.machine.copiedAt == 1_699_999_000)
        #expect(scene.sentTokens == [[1]] && scene.sent.first?.notification.apnsID == id)
        scene.wait(.seconds(1))
        try scene.kill()
        #expect(scene.machine.copiedAt == nil && scene.sentTokens == [[1]])
        // An older program has left the note, and has sent what went out again long ago.
        scene.store.damage(note)
        try scene.kill()
        #expect(scene.machine.copiedAt == nil)
        scene.wait(.seconds(1))
        #expect(scene.store.all(.copy).isEmpty)
    }

    @Test func `a start with a copy that fails before its first commit leaves the note to the next one`() throws {
        let scene = try GatewayStoreScene()
        scene.push([1], 1, on: scene.connect())
        let note = StoreChange(.copy, key: CopyRow.key, value: CopyRow.value(at: 1_699_999_000, epoch: 1))
        scene.store.damage(note)
        _ = scene.store.take()
        try scene.kill()
        #expect(scene.machine.copiedAt == 1_699_999_000)
    }

    @Test func `another store says how to copy it`() async throws {
        let error = await #expect(throws: StoreError.self) { try await MemoryStore().copy(to: "/nonexistent/copy") }
        #expect(error?.description.contains("tools of its database") == true)
    }
}
