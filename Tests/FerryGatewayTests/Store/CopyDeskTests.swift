import Testing

@testable import FerryGateway

@Suite(.timeLimit(.minutes(5))) struct CopyDeskTests {
    private static let copy = StoreCopy(path: "/copy.db", copiedAt: 1, bytes: 2)

    @Test func `a second copy is refused at once while the first hangs, and a later one is made`() async throws {
        let desk = CopyDesk()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await desk.make { () async throws(StoreError) -> StoreCopy in
                for await _ in gate { break }
                return Self.copy
            }
        }
        while !desk.isMaking { await Task.yield() }
        let error = await #expect(throws: StoreError.self) {
            try await desk.make { () async throws(StoreError) -> StoreCopy in Self.copy }
        }
        #expect(error?.description == "Another copy of the store is being made. Wait for its end.")
        open.yield()
        #expect(try await first.value == Self.copy)
        #expect(!desk.isMaking)
        let third = try await desk.make { () async throws(StoreError) -> StoreCopy in Self.copy }
        #expect(third == Self.copy)
    }

    @Test func `a copy that is given up has its answer while the work hangs, and no further one is made`()
        async throws
    {
        let desk = CopyDesk()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await desk.make { () async throws(StoreError) -> StoreCopy in
                for await _ in gate { break }
                try desk.requireWanted()
                return Self.copy
            }
        }
        while !desk.isMaking { await Task.yield() }
        desk.giveUp()
        let sentence = "The gateway ends, so no copy was made. Try again after its end."
        let error = await #expect(throws: StoreError.self) { try await first.value }
        #expect(error?.description == sentence && desk.isMaking)
        open.yield()
        while desk.isMaking { await Task.yield() }
        let next = await #expect(throws: StoreError.self) {
            try await desk.make { () async throws(StoreError) -> StoreCopy in Self.copy }
        }
        #expect(next?.description == sentence)
        #expect(throws: StoreError.self) { try desk.beginNaming() }
    }

    @Test func `a copy that gets its names is made, although the process ends`() async throws {
        let desk = CopyDesk()
        let copy = try await desk.make { () async throws(StoreError) -> StoreCopy in
            try desk.beginNaming()
            desk.giveUp()
            return Self.copy
        }
        #expect(copy == Self.copy)
    }

    @Test func `a copy that fails makes room for the next one`() async throws {
        let desk = CopyDesk()
        let error = await #expect(throws: StoreError.self) {
            try await desk.make { () async throws(StoreError) -> StoreCopy in throw StoreError("The disk is full.") }
        }
        #expect(error?.description == "The disk is full." && !desk.isMaking)
    }
}
