import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// What a gateway does after another one has taken their shared store.
@Suite struct HandoverTests {
    private static let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))

    /// A gateway with a client, and the gateway that has taken its store.
    private func scenes() throws -> (old: GatewayStoreScene, new: GatewayStoreScene, ConnectionID) {
        let store = MemoryStore(isShared: true)
        let old = try GatewayStoreScene(on: store)
        let connection = old.connect()
        old.push([0xff], 0, on: connection)
        old.answer([0xff])
        return (old, try GatewayStoreScene(on: store), connection)
    }

    private func deadLetters(_ scene: GatewayStoreScene) -> [[UInt8]?] {
        scene.events.compactMap { if case .deadLetter(let refusal) = $0 { refusal.token } else { nil } }
    }

    @Test func `it hands over what it read, and forwards and lists nothing more`() throws {
        let (old, new, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        old.push([2], 2, on: connection)
        #expect(old.sentTokens.isEmpty)
        #expect(old.events.contains(.handingOver))
        #expect(self.deadLetters(old).isEmpty)
        #expect(!old.machine.isOpen(identity: 0, now: old.now))
        #expect(new.store.late.count == 2)
        #expect(old.machine.figures(now: old.now).late.handedOver == 2)
        new.beat()
        #expect(new.machine.figures(now: new.now).late.takenOver == 2)
        old.machine.abandon()
        #expect(old.machine.giveUpUnanswered())
        #expect(self.deadLetters(old).isEmpty)
    }

    @Test func `it says goodbye to its clients two seconds later, and names the last notification that it handed over`()
        throws
    {
        let (old, _, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        old.wait(.milliseconds(1990))
        #expect(old.told.isEmpty && old.closed.isEmpty)
        old.wait(.seconds(10))
        #expect(old.told == [ErrorResponse(status: .shutdown, identifier: 1)])
        #expect(old.closed == [connection] && old.machine.isHandedOver)
    }

    @Test func `the last word leaves nothing to a client without a pause that is handed over, too`() throws {
        let (old, _, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        old.wait(.seconds(1))
        var number: UInt8 = 1
        while old.told.isEmpty, number < 200 {
            number += 1
            old.store.hold()
            old.push([number], UInt32(number), on: connection)
            old.wait(.milliseconds(40))
            old.store.release()
            old.wait(.milliseconds(10))
        }
        #expect(old.told == [ErrorResponse(status: .shutdown, identifier: UInt32(number))])
        old.wait(.seconds(10))
        #expect(old.closed == [connection] && old.machine.isHandedOver)
    }

    @Test func `bytes that are read meanwhile are handed over before the close`() throws {
        let (old, new, connection) = try self.scenes()
        old.push([1], 1, on: connection)
        old.store.hold()
        old.push([2], 2, on: connection)
        old.wait(.seconds(1))
        #expect(old.closed.isEmpty && old.told.isEmpty)
        old.store.release()
        old.wait(.seconds(10))
        #expect(old.told.map(\.identifier) == [2])
        #expect(old.closed == [connection] && old.machine.isHandedOver)
        #expect(new.store.late.count >= 2)
    }

    @Test func `the goodbye waits for commits that the store has answered too early, also if nothing is read`() throws {
        // A store that forwards from memory answers before the database has the commits. Later ones wait behind them.
        let store = MemoryStore(isShared: true)
        let old = try GatewayStoreScene(on: store)
        old.warm()
        old.wait(.seconds(1))
        let connection = old.connect()
        _ = store.take()
        store.hold()
        old.machine.handOver(now: old.now)
        old.collect()
        old.wait(.seconds(20))
        #expect(!old.closed.contains(connection))
        store.release()
        old.collect()
        old.wait(.seconds(10))
        #expect(old.closed.last == connection && old.machine.isHandedOver)
    }

    @Test func `answers that come after the loss are handed over, and rejections are left to the new owner`() throws {
        let store = MemoryStore(isShared: true)
        let old = try GatewayStoreScene(on: store)
        old.warm()
        let connection = old.connect()
        old.push([1], 1, on: connection)
        old.push([2], 2, on: connection)
        _ = store.take()
        old.answer([1], Self.bad)
        old.wait(.milliseconds(500))
        #expect(old.told.isEmpty && old.machine.isStoreTaken)
        old.wait(.seconds(10))
        #expect(old.told.allSatisfy { $0.status == .shutdown } && old.machine.isHandedOver)
    }

    @Test func `while the store cannot be reached, it keeps what it read and its clients, and says so`() throws {
        let (old, _, connection) = try self.scenes()
        old.store.fail("The database is away.")
        old.machine.handOver(now: old.now)
        old.push([1], 1, on: connection)
        old.wait(.seconds(30))
        #expect(old.closed.isEmpty && !old.machine.isHandedOver)
        #expect(old.machine.figures(now: old.now).late.waiting == 1)
        #expect(old.events.contains(.storeTrouble("The database is away.")))
        old.store.fail(nil)
        old.wait(.seconds(15))
        #expect(old.closed == [connection] && old.machine.isHandedOver)
        #expect(old.machine.figures(now: old.now).late.waiting == 0)
        #expect(!old.store.late.isEmpty)
    }

    @Test func `at the end, what it could not hand over is listed as a dead letter`() throws {
        let (old, _, connection) = try self.scenes()
        old.store.fail("The database is away.")
        old.machine.handOver(now: old.now)
        old.push([1], 1, on: connection)
        old.machine.abandon()
        old.collect()
        #expect(self.deadLetters(old) == [[1]])
        #expect(!old.machine.giveUpUnanswered())
    }

    // MARK: The right to tell

    @Test func `without the right to tell, a rejection is deferred to the next push to the token`() throws {
        let scene = try GatewayStoreScene()
        scene.warm()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        scene.machine.mayTell = false
        scene.answer([1], Self.bad)
        scene.wait(.seconds(3))
        #expect(scene.told.isEmpty && scene.machine.counts.deferred == 1)
        scene.machine.mayTell = true
        scene.push([1], 3, on: connection)
        scene.wait(.seconds(1))
        #expect(scene.told.map(\.identifier) == [3])
    }

    @Test func `without the right to tell, the end is a plain close`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.push([2], 2, on: connection)
        scene.acceptAll()
        scene.machine.mayTell = false
        scene.shutDown()
        scene.wait(.seconds(20))
        #expect(scene.told.isEmpty && scene.closed == [connection])
    }
}
