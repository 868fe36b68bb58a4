import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// The list of rejections of a gateway with a store.
@Suite struct ListAndStoreTests {
    private static let bad: [UInt8] = [1, 1]
    private static let rejected = Outcome.rejected(
        Rejection(reason: .payloadTooLarge, origin: .apns, status: 413)
    )

    private func scene() throws -> GatewayStoreScene {
        let scene = try GatewayStoreScene(hasList: true)
        let connection = scene.connect()
        scene.push(Self.bad, 1, on: connection)
        return scene
    }

    private func written(_ scene: GatewayStoreScene) -> [String] {
        scene.batches.flatMap(\.lines).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a line goes to the file when the store has the answer, and its row goes then`() throws {
        let scene = try self.scene()
        scene.store.hold()
        scene.answer(Self.bad, Self.rejected)
        scene.wait(.milliseconds(50))
        #expect(self.written(scene) == [])
        scene.store.release()
        scene.collect()
        scene.wait(.milliseconds(50))
        #expect(self.written(scene).count == 1)
        #expect(self.written(scene).first?.contains(#""token":"0101","reason":"PayloadTooLarge""#) == true)
        scene.wait(.milliseconds(50))
        #expect(scene.store.all(.rejections) == [])
        #expect(scene.store.all(.list).count == 1)
    }

    @Test func `a kill before the answer is durable lists the second answer only`() throws {
        let scene = try self.scene()
        scene.store.hold()
        scene.answer(Self.bad, Self.rejected)
        scene.wait(.milliseconds(50))
        try scene.kill()
        scene.store.release()
        #expect(scene.sentTokens == [Self.bad])
        #expect(self.written(scene) == [])
        scene.answer(Self.bad, Self.rejected)
        scene.wait(.milliseconds(50))
        #expect(self.written(scene).count == 1)
    }

    @Test func `after a kill, the file is asked about the lines that it may have, with the place before them`() throws {
        let scene = try self.scene()
        scene.answer(Self.bad, Self.rejected)
        scene.wait(.milliseconds(50))
        let place = scene.store.all(.list).first.flatMap { ListPlace($0.value) }
        #expect(place != nil)
        scene.fileAnswers = false
        let connection = scene.connect()
        scene.push([2, 2], 1, on: connection)
        scene.answer([2, 2], Self.rejected)
        scene.wait(.milliseconds(50))
        let last = try #require(scene.batches.last)
        #expect(last.lines.count == 1 && last.after == place)
        scene.fileAnswers = true
        try scene.kill()
        #expect(scene.batches.last == last)
        scene.wait(.milliseconds(50))
        #expect(scene.store.all(.rejections) == [])
    }

    @Test func `what a taken store does not have is in the file`() throws {
        let scene = try GatewayStoreScene(hasList: true)
        _ = scene.store.take()
        scene.push(Self.bad, 1, on: scene.connect())
        // The first batch asks for the place in the file.
        scene.collect()
        #expect(self.written(scene).count == 1)
        #expect(self.written(scene).first?.contains("0101") == true)
        #expect(scene.machine.counts.unwritten == 0)
    }

    @Test func `a line that neither the file nor a taken store has counts as lost at the end`() throws {
        let scene = try self.scene()
        scene.fileAnswers = false
        scene.answer(Self.bad, Self.rejected)
        scene.wait(.milliseconds(50))
        _ = scene.store.take()
        scene.push([2, 2], 2, on: scene.connect())
        #expect(scene.machine.counts.unwritten == 2)
        scene.machine.abandonList()
        // The store has the first one.
        #expect(scene.machine.counts.unwritten == 1)
        #expect(scene.machine.counts.unlisted == 1)
    }

    @Test func `a refusal of the gateway itself has its line in the store, too`() throws {
        let scene = try GatewayStoreScene(hasList: true)
        scene.fileAnswers = false
        let connection = scene.connect()
        scene.push([], 1, on: connection)
        scene.push([3, 3], 2, payload: "no JSON", on: connection)
        scene.wait(.milliseconds(50))
        #expect(scene.store.all(.rejections).count == 2)
        #expect(scene.machine.counts.unwritten == 2)
    }
}
