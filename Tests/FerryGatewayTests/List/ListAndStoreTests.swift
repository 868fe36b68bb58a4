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
        // The store has the first one.
        #expect(scene.machine.counts.unwritten == 1)
        scene.machine.abandonList()
        #expect(scene.machine.counts.unwritten == 0)
        #expect(scene.machine.counts.unlisted == 1)
    }

    // MARK: Two processes

    /// Lets another process take the store, and the first one find that out with a notification to the token 9.
    private func takeOver(_ first: GatewayStoreScene) throws -> GatewayStoreScene {
        let second = try GatewayStoreScene(on: first.store, hasList: true)
        second.collect()
        first.push([9, 9], 9, on: first.connect())
        #expect(first.events.contains(.storeTaken))
        return second
    }

    /// The tokens of the lines that a process has put into the file.
    private func tokens(_ scene: GatewayStoreScene) -> [String] {
        self.written(scene).compactMap { line in
            line.firstRange(of: #""token":""#).map { String(line[$0.upperBound...].prefix { $0 != "\"" }) }
        }
    }

    @Test func `a line that the store has and the file has not is written by the process that has taken it`() throws {
        let first = try self.scene()
        // The list finds its place in the file.
        first.push([], 2, on: first.connect())
        first.wait(.seconds(1))
        #expect(self.tokens(first) == [])
        let before = self.written(first).count
        first.fileTrouble = "The disk is full."
        first.push([], 3, on: first.connect())
        first.wait(.seconds(1))
        first.answer(Self.bad, Self.rejected)
        first.wait(.milliseconds(50))
        let tried = first.batches.count
        let second = try self.takeOver(first)
        first.fileTrouble = nil
        first.wait(.seconds(5))
        second.wait(.seconds(5))
        #expect(before == 1)
        let late = first.batches[tried...].flatMap(\.lines).map { String(decoding: $0, as: UTF8.self) }
        #expect(late.count == 1 && late.first?.contains(#""token":"0909""#) == true, "\(late)")
        #expect(self.tokens(second) == ["0101"])
        #expect(self.written(second).count == 2)
    }

    @Test(arguments: [Self.rejected, .expired, .uncertain(.noAnswer)])
    func `the answer to a notification that the store has is listed by the process that has taken it`(
        _ outcome: Outcome
    ) throws {
        let first = try self.scene()
        let second = try self.takeOver(first)
        first.answer(Self.bad, outcome)
        first.wait(.seconds(5))
        #expect(self.tokens(first) == ["0909"])
        #expect(first.machine.counts.unwritten == 0 && first.machine.counts.unlisted == 0)
        #expect(second.sentTokens == [Self.bad])
        second.answer(Self.bad, outcome)
        second.wait(.seconds(5))
        #expect(self.tokens(second) == ["0101"])
    }

    @Test func `an answer whose commit another process has prevented is listed by that process`() throws {
        let first = try self.scene()
        first.store.hold()
        first.answer(Self.bad, Self.rejected)
        first.wait(.milliseconds(50))
        let second = try GatewayStoreScene(on: first.store, hasList: true)
        first.store.release()
        second.collect()
        first.push([9, 9], 9, on: first.connect())
        first.wait(.seconds(5))
        second.answer(Self.bad, Self.rejected)
        second.wait(.seconds(5))
        #expect(self.tokens(first) == ["0909"])
        #expect(self.tokens(second) == ["0101"])
    }

    @Test func `a refusal that a taken store does not have is in the file`() throws {
        let first = try GatewayStoreScene(hasList: true)
        let connection = first.connect()
        let second = try GatewayStoreScene(on: first.store, hasList: true)
        second.collect()
        first.push([3, 3], 1, payload: "no JSON", on: connection)
        first.wait(.seconds(5))
        second.wait(.seconds(5))
        #expect(self.tokens(first) == ["0303"])
        #expect(self.tokens(second) == [])
    }

    @Test func `a letter that a taken store still has is not listed as dead again`() throws {
        let first = try self.scene()
        first.answer(Self.bad, .rejected(Rejection(reason: .badPriority, origin: .apns, status: 400)))
        first.wait(.seconds(1))
        let letter = try #require(first.store.page(.letters, after: [], limit: .max).compactMap { Letter($0) }.first)
        let before = self.written(first).count
        _ = first.store.take()
        #expect(first.machine.retry([letter], now: first.now) == [.done])
        first.collect()
        first.wait(.seconds(5))
        #expect(first.events.contains(.storeTaken))
        #expect(before == 1 && self.written(first).count == 1)
        #expect(!first.store.all(.letters).isEmpty)
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
