import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// The end of a gateway with a store, while notifications wait.
@Suite struct GatewayEndTests {
    private static let key = Array("api.push.apple.com:443 TEAM KEY".utf8)
    private static let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))

    /// More than a client's credit lets out.
    private func scene() throws -> GatewayStoreScene {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        for name: UInt8 in 1...20 { scene.push([name], UInt32(name), on: connection) }
        return scene
    }

    @Test func `after the end nothing goes out that the next start sends`() throws {
        let scene = try self.scene()
        let out = scene.sentTokens
        #expect(out.count == 4)
        scene.machine.abandon()
        #expect(scene.machine.giveUpUnanswered())
        // An answer makes room for the next, a notification comes back, and another may have arrived.
        scene.answer(out[0])
        scene.answer(out[1], .undelivered(.shutDown))
        scene.answer(out[2], .uncertain(.shutDown))
        scene.wait(.seconds(10))
        #expect(scene.sentTokens == [out[3]])
        let uncertain = scene.events.compactMap { if case .uncertain(let item, _) = $0 { item.token } else { nil } }
        #expect(uncertain == [out[2]])
        try scene.kill()
        #expect(scene.acceptAll().sorted { $0[0] < $1[0] } == (2...20).map { [$0] })
    }

    @Test func `what the provider had no room for is not under way after the end`() throws {
        let scene = try GatewayStoreScene()
        scene.providerRoom = 1
        let connection = scene.connect()
        for name: UInt8 in 1...4 { scene.push([name], UInt32(name), on: connection) }
        #expect(scene.sentTokens == [[1]])
        scene.machine.abandon()
        #expect(scene.machine.figures(now: scene.now).underWay == 1)
        scene.answer([1])
        #expect(scene.machine.figures(now: scene.now).underWay == 0)
    }

    @Test func `after the end nothing goes out over a side connection, either`() throws {
        let scene = try GatewayStoreScene(upstreamKey: Self.key)
        scene.warm()
        let connection = scene.connect()
        for name: UInt8 in 1...40 { scene.push([name], UInt32(name), on: connection) }
        for _ in 0..<3 { for token in scene.sentTokens { scene.answer(token, Self.bad) } }
        let out = scene.sentTokens
        #expect(!out.isEmpty && scene.machine.jobCount > out.count)
        scene.machine.abandon()
        #expect(scene.machine.giveUpUnanswered())
        for token in out { scene.answer(token, .undelivered(.shutDown)) }
        scene.wait(.seconds(10))
        #expect(scene.sentTokens.isEmpty)
        #expect(scene.machine.counts.isConserved)
    }

    @Test func `what APNs answers while the last word waits for the store is a copy for the next process`() throws {
        let scene = try GatewayStoreScene()
        scene.warm()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.shutDown()
        // The client never pauses, so the last word comes 3 s later, in the middle of its notifications.
        for name: UInt8 in 2...30 {
            scene.push([name], UInt32(name), on: connection)
            scene.answer([name - 1])
            scene.wait(.milliseconds(100))
        }
        scene.push([31], 31, on: connection)
        scene.wait(.milliseconds(20))
        scene.store.hold()
        scene.wait(.milliseconds(100))
        #expect(scene.told.isEmpty)
        for name: UInt8 in 30...31 { scene.answer([name]) }
        scene.store.release()
        scene.collect()
        #expect(scene.told == [ErrorResponse(status: .shutdown, identifier: 29)])
        scene.wait(.seconds(3))
        try scene.kill()
        let next = scene.connect()
        for name: UInt8 in 30...32 { scene.push([name], UInt32(name), on: next) }
        #expect(scene.sentTokens == [[32]])
    }

    @Test func `the end waits for the store's answers`() throws {
        let scene = try self.scene()
        scene.wait(.seconds(1))
        #expect(scene.machine.isWritten)
        scene.store.hold()
        scene.answer([1])
        #expect(!scene.machine.isWritten)
        scene.wait(.milliseconds(20))
        #expect(!scene.machine.isWritten)
        scene.store.release()
        scene.collect()
        #expect(scene.machine.isWritten)
    }

    @Test func `a commit that was refused before the end is tried once more, so no answer is lost`() throws {
        let scene = try self.scene()
        scene.wait(.seconds(1))
        scene.store.fail("It is full.")
        scene.answer([1])
        scene.wait(.milliseconds(20))
        #expect(!scene.machine.isWritten)
        scene.store.fail(nil)
        scene.machine.tryRest()
        #expect(!scene.machine.isWritten)
        scene.collect()
        scene.wait(.milliseconds(20))
        #expect(scene.machine.isWritten)
        try scene.kill()
        #expect(scene.acceptAll().sorted { $0[0] < $1[0] } == (2...20).map { [$0] })
    }

    @Test func `a commit that is refused after the end began is tried once more`() throws {
        let scene = try self.scene()
        scene.wait(.seconds(1))
        scene.machine.tryRest()
        scene.store.hold()
        scene.answer([1])
        scene.wait(.milliseconds(20))
        scene.store.fail("It is full.")
        scene.store.release()
        scene.store.fail(nil)
        scene.collect()
        scene.wait(.milliseconds(20))
        #expect(scene.machine.isWritten)
        try scene.kill()
        #expect(scene.acceptAll().sorted { $0[0] < $1[0] } == (2...20).map { [$0] })
    }

    @Test func `a store that refuses the last try, too, does not hold up the end`() throws {
        let scene = try self.scene()
        scene.wait(.seconds(1))
        scene.store.fail("It is full.")
        scene.answer([1])
        scene.wait(.milliseconds(20))
        scene.machine.tryRest()
        scene.store.hold()
        scene.collect()
        // The store may still accept it.
        #expect(!scene.machine.isWritten)
        scene.store.release()
        scene.collect()
        #expect(scene.machine.isWritten)
    }
}
