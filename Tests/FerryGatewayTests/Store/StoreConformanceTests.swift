import Testing

@testable import FerryGateway

/// What every store promises.
@Suite struct StoreConformanceTests {
    /// A store that is open, and makes commits of its owner.
    private struct Scene {
        let shelf: StoreShelf
        let store: any GatewayStore
        let opening: StoreOpening

        func append(
            _ number: UInt64,
            _ bytes: [UInt8] = [1],
            epoch: UInt64? = nil,
            changes: [StoreChange] = [],
            drops: [UInt64] = []
        ) async -> StoreAnswer {
            let segment = StoredSegment(number: number, bytes: bytes)
            let commit = StoreCommit(
                epoch: epoch ?? self.opening.epoch,
                segment: segment,
                changes: changes,
                drops: drops
            )
            return await StoreShelf.append(commit, to: self.store)
        }

        var segments: [StoredSegment] {
            get async throws { try await StoreShelf.segments(self.store) }
        }
    }

    private func with(_ kind: StoreShelf.Kind, _ body: (Scene) async throws -> Void) async throws {
        try await StoreShelf.with(kind) { shelf in
            let store = shelf.store()
            let scene = Scene(shelf: shelf, store: store, opening: try await store.open())
            try await body(scene)
            await store.close()
        }
    }

    @Test(arguments: StoreShelf.Kind.possible)
    func `acknowledged segments are there after the next opening, in order`(_ kind: StoreShelf.Kind) async throws {
        try await self.with(kind) { (scene: Scene) async throws in
            #expect(scene.opening.last == 0 && scene.opening.hashKey.count == 16)
            for number in UInt64(1)...7 { #expect(await scene.append(number, [UInt8(number)]) == .durable) }
            await scene.store.close()
            let second = scene.shelf.store()
            let again = try await second.open()
            #expect(again.node == scene.opening.node && again.hashKey == scene.opening.hashKey)
            #expect(again.epoch > scene.opening.epoch && again.last == 7)
            #expect(try await StoreShelf.segments(second).map(\.bytes) == (1...7).map { [UInt8($0)] })
            await second.close()
        }
    }

    @Test(arguments: StoreShelf.Kind.possible)
    func `a commit drops segments and changes rows`(_ kind: StoreShelf.Kind) async throws {
        try await self.with(kind) { (scene: Scene) async throws in
            for table in [StoreTable.gates, .habits] {
                let set = [1, 2].map { StoreChange(table, key: [$0], value: [$0, $0]) }
                #expect(await scene.append(1, changes: set) == .durable)
                let remove = [StoreChange(table, key: [1], value: nil), StoreChange(table, key: [2], value: [])]
                #expect(await scene.append(2, changes: remove, drops: [1]) == .durable)
                #expect(try await scene.segments.map(\.number) == [2])
                #expect(try await scene.store.rows(table) == [StoreRow(key: [2], value: [])])
                #expect(try await scene.store.rows(table, keys: [[1], [2]]) == [StoreRow(key: [2], value: [])])
            }
        }
    }

    @Test(arguments: StoreShelf.Kind.possible)
    func `of several changes of a row in one commit the last one counts`(_ kind: StoreShelf.Kind) async throws {
        try await self.with(kind) { (scene: Scene) async throws in
            let changes = [[1], nil, [2], [3]].map { StoreChange(.letters, key: [9], value: $0) }
            #expect(await scene.append(1, changes: changes) == .durable)
            #expect(try await scene.store.rows(.letters) == [StoreRow(key: [9], value: [3])])
        }
    }

    @Test(arguments: StoreShelf.Kind.possible)
    func `rows come in pages by their keys, and by key`(_ kind: StoreShelf.Kind) async throws {
        try await self.with(kind) { (scene: Scene) async throws in
            let changes = [3, 1, 2].map { StoreChange(.letters, key: [$0], value: [$0]) }
            #expect(await scene.append(1, changes: changes) == .durable)
            #expect(try await scene.store.rows(.letters, after: [], limit: 2).map(\.key) == [[1], [2]])
            #expect(try await scene.store.rows(.letters, after: [2], limit: 2).map(\.key) == [[3]])
            #expect(try await scene.store.rows(.letters, after: [3], limit: 2).isEmpty)
            #expect(try await scene.store.rows(.letters, keys: [[2], [9]]) == [StoreRow(key: [2], value: [2])])
        }
    }

    @Test(arguments: StoreShelf.Kind.possible)
    func `a commit that is repeated takes the place of the first`(_ kind: StoreShelf.Kind) async throws {
        try await self.with(kind) { (scene: Scene) async throws in
            #expect(await scene.append(1, [1]) == .durable)
            #expect(await scene.append(1, [2]) == .durable)
            #expect(try await scene.segments == [StoredSegment(number: 1, bytes: [2])])
        }
    }

    @Test(arguments: StoreShelf.Kind.possible)
    func `an owner of an older epoch is fenced and writes nothing`(_ kind: StoreShelf.Kind) async throws {
        try await self.with(kind) { (scene: Scene) async throws in
            #expect(await scene.append(1, epoch: scene.opening.epoch - 1) == .fenced)
            #expect(try await scene.segments.isEmpty)
        }
    }

    @Test(arguments: StoreShelf.Kind.possible)
    func `answers come in the order of the commits`(_ kind: StoreShelf.Kind) async throws {
        try await self.with(kind) { (scene: Scene) async throws in
            let (answers, continuation) = AsyncStream.makeStream(of: UInt64.self)
            for number in UInt64(1)...100 {
                let segment = StoredSegment(number: number, bytes: [1])
                scene.store.append(StoreCommit(epoch: scene.opening.epoch, segment: segment)) { _ in
                    continuation.yield(number)
                }
            }
            var numbers: [UInt64] = []
            for await number in answers {
                numbers.append(number)
                if numbers.count == 100 { break }
            }
            #expect(numbers == Array(1...100))
        }
    }

    @Test(arguments: StoreShelf.Kind.possible)
    func `a large segment comes back whole`(_ kind: StoreShelf.Kind) async throws {
        try await self.with(kind) { (scene: Scene) async throws in
            let bytes = (0..<9_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            #expect(await scene.append(1, bytes) == .durable)
            #expect(await scene.append(2) == .durable)
            #expect(try await scene.segments.map(\.bytes) == [bytes, [1]])
        }
    }

    @Test(arguments: StoreShelf.Kind.possible)
    func `a store that was closed says so`(_ kind: StoreShelf.Kind) async throws {
        // A store in memory can be opened again.
        guard kind != .memory else { return }
        try await self.with(kind) { (scene: Scene) async throws in
            await scene.store.close()
            #expect(await scene.append(1) == .unavailable("The store is closed."))
        }
    }
}
