import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

/// The list of rejections in a store that several gateways share.
@Suite struct SharedListTests {
    private static let bad = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))

    private func lines(_ store: MemoryStore) -> [String] {
        store.all(.rejections).sorted { $0.key.lexicographicallyPrecedes($1.key) }
            .map { String(decoding: $0.value, as: UTF8.self) }
    }

    @Test func `a rejection stands under the number of its notification, in the commit of the answer`() throws {
        let scene = try GatewayStoreScene(on: MemoryStore(isShared: true))
        scene.push([1], 1, on: scene.connect())
        let number = try #require(scene.sent.first).tag.rawValue
        scene.answer([1], Self.bad)
        #expect(scene.store.all(.rejections).isEmpty)
        scene.wait(.seconds(1))
        #expect(scene.store.all(.rejections).map(\.key) == [number.bigEndianBytes])
        let line = try #require(self.lines(scene.store).first)
        #expect(line.hasPrefix(#"{"event":"rejected","client":"old","token":"01""#) && line.hasSuffix("}"))
    }

    @Test func `a second owner that hears the same answer adds no line`() throws {
        let store = MemoryStore(isShared: true)
        let old = try GatewayStoreScene(on: store)
        old.push([1], 1, on: old.connect())
        let new = try GatewayStoreScene(on: store)
        new.collect()
        new.answer([1], Self.bad)
        new.wait(.seconds(1))
        old.answer([1], Self.bad)
        old.wait(.seconds(1))
        #expect(old.machine.isStoreTaken)
        #expect(self.lines(store).count == 1)
    }

    @Test func `a notification that may have arrived has a line of its own beside its rejection`() throws {
        let scene = try GatewayStoreScene(on: MemoryStore(isShared: true))
        scene.push([1], 1, on: scene.connect())
        scene.answer([1], .uncertain(.peerCloses))
        scene.answer([1], Self.bad)
        scene.wait(.seconds(1))
        let lines = self.lines(scene.store)
        #expect(lines.count { $0.contains(#""event":"uncertain""#) } == 1)
        #expect(lines.count { $0.contains(#""event":"rejected""#) } == 1)
    }

    @Test func `a notification that the gateway refuses itself has a line, too`() throws {
        let scene = try GatewayStoreScene(on: MemoryStore(isShared: true))
        let connection = scene.connect()
        scene.push([1], 1, payload: "no JSON", on: connection)
        scene.push([], 2, on: connection)
        scene.wait(.seconds(1))
        #expect(self.lines(scene.store).count == 2)
    }

    @Test func `the file gets each line once, and leaves nothing in the store`() throws {
        let scene = try GatewayStoreScene(on: MemoryStore(isShared: true), hasList: true)
        let connection = scene.connect()
        for name: UInt8 in 1...3 {
            scene.push([name], UInt32(name), on: connection)
            scene.answer([name], Self.bad)
            scene.wait(.seconds(1))
        }
        #expect(scene.batches.flatMap(\.lines).count == 3)
        #expect(self.lines(scene.store).count == 3)
        #expect(scene.store.all(.list).isEmpty)
    }

    @Test func `at the end, the file gets the lines that the store cannot get`() throws {
        let scene = try GatewayStoreScene(on: MemoryStore(isShared: true), hasList: true)
        let connection = scene.connect()
        scene.store.fail("The database is away.")
        scene.push([1], 1, on: connection)
        scene.wait(.seconds(1))
        #expect(scene.batches.isEmpty)
        scene.machine.abandon()
        scene.collect()
        let lines = scene.batches.flatMap(\.lines).map { String(decoding: $0, as: UTF8.self) }
        #expect(
            lines.count == 1 && lines.allSatisfy { $0.contains(#""event":"deadLetter","client":"old","token":"01""#) }
        )
    }
}
