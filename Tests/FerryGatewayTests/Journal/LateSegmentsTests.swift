import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// What the new owner of a shared store makes of the segments that a former owner hands over.
@Suite struct LateSegmentsTests {
    private static let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))

    /// A gateway with a client, and the gateway that has taken its store.
    private func scenes() throws -> (old: GatewayStoreScene, new: GatewayStoreScene, ConnectionID) {
        let store = MemoryStore(isShared: true)
        let old = try GatewayStoreScene(on: store)
        old.warm()
        // The answer is in the store, too.
        old.wait(.seconds(1))
        let connection = old.connect()
        return (old, try GatewayStoreScene(on: store), connection)
    }

    /// The segments that a gateway has committed as the owner. A database that fails over may forget them.
    private func segments(of store: MemoryStore) -> [StoredSegment] {
        var segments: [StoredSegment] = []
        while true {
            let page = store.page(after: segments.last?.number ?? 0)
            guard !page.isEmpty else { return segments }
            segments += page
        }
    }

    private func troubles(_ scene: GatewayStoreScene) -> [String] {
        scene.events.compactMap { if case .storeTrouble(let reason) = $0 { reason } else { nil } }
    }

    @Test func `notifications that were handed over go out once, although the segments come again`() throws {
        let (old, new, connection) = try self.scenes()
        for name: UInt8 in 1...3 { old.push([name], UInt32(name), on: connection) }
        let late = new.store.late
        new.beat()
        #expect(new.acceptAll() == [[1], [2], [3]])
        #expect(new.store.late.isEmpty)
        new.take(late)
        new.beat()
        #expect(new.acceptAll().isEmpty)
        #expect(new.machine.counts.isConserved)
    }

    @Test func `a segment that comes again is marked again, because a failover may have lost the mark`() throws {
        let (old, new, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        let late = new.store.late
        new.beat()
        new.machine.takeOver(late, now: new.now)
        new.machine.sealJournal(now: new.now)
        #expect(new.machine.takeCommits(now: new.now).map(\.late) == [late.map(\.number)])
        #expect(new.acceptAll() == [[1]])
    }

    @Test func `they go out when the journal has them, and a segment counts as taken over no sooner`() throws {
        let (old, new, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        let late = new.store.late
        new.store.hold()
        new.beat()
        #expect(new.sentTokens.isEmpty && new.store.late == late)
        new.store.release()
        new.collect()
        #expect(new.sentTokens == [[1]] && new.store.late.isEmpty)
    }

    @Test func `after a kill of the new owner they go out again from its own journal`() throws {
        let (old, new, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        new.beat()
        try new.kill()
        new.beat()
        #expect(new.sentTokens == [[1]])
    }

    @Test func `a kill before the commit leaves the late segment for the next owner`() throws {
        let (old, new, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        new.store.fail("The database is away.")
        new.beat()
        new.store.fail(nil)
        try new.kill()
        #expect(new.sentTokens.isEmpty)
        new.beat()
        #expect(new.sentTokens == [[1]])
    }

    @Test func `the copies of a client that sends again are swallowed`() throws {
        let (old, new, connection) = try self.scenes()
        for name: UInt8 in 1...3 { old.push([name], UInt32(name), on: connection) }
        new.beat()
        let again = new.connect()
        for name: UInt8 in 1...3 { new.push([name], UInt32(name), on: again) }
        new.push([4], 4, on: again)
        #expect(new.acceptAll() == [[1], [2], [3], [4]])
        #expect(new.machine.counts.swallowed == 3)
    }

    @Test func `so are those of a connection that has an episode from before`() throws {
        let store = MemoryStore(isShared: true)
        let old = try GatewayStoreScene(on: store)
        let connection = old.connect()
        old.push([1], 1, on: connection)
        let new = try GatewayStoreScene(on: store)
        new.collect()
        old.push([2], 2, on: connection)
        new.beat()
        old.push([3], 3, on: connection)
        new.beat()
        let again = new.connect()
        for name: UInt8 in 1...3 { new.push([name], UInt32(name), on: again) }
        #expect(new.acceptAll() == [[1], [2], [3]])
        #expect(new.machine.counts.swallowed == 3)
    }

    @Test func `a notification that the former owner rewrote is not sent a second time`() throws {
        let store = MemoryStore(isShared: true)
        let old = try GatewayStoreScene(on: store)
        let connection = old.connect()
        old.push([1], 1, on: connection)
        for name: UInt8 in 2...30 {
            old.push([name], UInt32(name), on: connection)
            old.answer([name])
        }
        old.wait(.seconds(1))
        let new = try GatewayStoreScene(on: store)
        new.collect()
        #expect(new.sentTokens == [[1]])
        new.answer([1])
        // The former owner rewrites it, because its segment is old.
        old.wait(.minutes(3))
        #expect(old.machine.isStoreTaken && !store.late.isEmpty)
        new.beat()
        new.wait(.seconds(1))
        #expect(new.sentTokens.isEmpty && store.late.isEmpty)
    }

    @Test(arguments: [1, 5]) func `what a database forgot is answered, or goes out again with its apns-id`(
        _ epoch: Int
    ) throws {
        let forgotten = MemoryStore(isShared: true)
        for _ in 1..<epoch { _ = forgotten.take() }
        let old = try GatewayStoreScene(on: forgotten)
        old.warm()
        let connection = old.connect()
        for name: UInt8 in 1...3 { old.push([name], UInt32(name), on: connection) }
        let ids = old.sent.filter { $0.device.bytes == [2] }.map(\.notification.apnsID)
        old.answer([1])
        old.answer([3], Self.bad)
        old.wait(.seconds(1))
        let new = try GatewayStoreScene(on: MemoryStore(isShared: true))
        _ = new.store.take()
        try new.kill()
        new.take(self.segments(of: forgotten))
        #expect(new.sentTokens == [[2]])
        #expect(new.sent.map(\.notification.apnsID) == ids && ids.count == 1)
    }

    @Test func `a damaged late segment stays, and is reported once`() throws {
        let (old, new, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        old.push([2], 2, on: connection)
        var late = new.store.late
        late[0].bytes[20] ^= 0xff
        new.take(late)
        new.take(late)
        #expect(new.sentTokens == [[2]])
        #expect(self.troubles(new).count == 1)
        #expect(new.store.late.map(\.number) == [late[0].number])
    }

    @Test func `a late segment of a client that the configuration does not name stays, and is reported`() throws {
        let (old, new, connection) = try self.scenes()
        old.machine.journal?.rename(["other"])
        old.push([1], 1, on: connection)
        new.beat()
        #expect(new.sentTokens.isEmpty && new.store.late.count == 1)
        #expect(self.troubles(new).first?.contains("'other'") == true)
    }

    @Test func `at the end late segments stay for the next owner`() throws {
        let (old, new, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        new.shutDown()
        new.beat()
        #expect(new.sentTokens.isEmpty && new.store.late.count == 1)
    }
}
