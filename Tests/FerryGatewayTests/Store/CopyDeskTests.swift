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

    @Test func `a copy that fails makes room for the next one`() async throws {
        let desk = CopyDesk()
        let error = await #expect(throws: StoreError.self) {
            try await desk.make { () async throws(StoreError) -> StoreCopy in throw StoreError("The disk is full.") }
        }
        #expect(error?.description == "The disk is full." && !desk.isMaking)
    }
}
