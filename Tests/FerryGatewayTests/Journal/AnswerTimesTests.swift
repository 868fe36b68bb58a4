import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// The times from a notification to its answer: they say how fast the way to APNs is, and not how long a trouble was.
@Suite struct AnswerTimesTests {
    private static let fault = Outcome.rejected(Rejection(reason: .internalServerError, origin: .apns, status: 500))
    private static let wrong = Outcome.rejected(Rejection(reason: .badPriority, origin: .apns, status: 400))

    private func answers(_ scene: GatewayStoreScene) throws -> AnswerFigures {
        try #require(scene.machine.figures(now: scene.now).upstreams.first).answers
    }

    @Test func `the first answer has its time, with that of the store`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.store.hold()
        scene.push([1], 1, on: connection)
        scene.wait(.milliseconds(30))
        scene.store.release()
        scene.collect()
        scene.wait(.milliseconds(40))
        scene.answer([1])
        #expect(try self.answers(scene).times.count == 1)
        #expect(try self.answers(scene).times.sum == 70_000_000)
    }

    @Test func `what is sent again adds no time`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.answer([1], Self.fault)
        #expect(try self.answers(scene).times.count == 1)
        scene.wait(.minutes(30))
        #expect(scene.sentTokens == [[1]])
        scene.answer([1])
        let answers = try self.answers(scene)
        #expect(answers.times.count == 1 && answers.accepted == 1)
        #expect(answers.refusals == [.internalServerError: 1])
        #expect(scene.machine.counts.isConserved && scene.machine.counts.accepted == 1)
    }

    @Test func `what an earlier process read adds no time`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.wait(.minutes(30))
        try scene.kill()
        #expect(scene.sentTokens == [[1]])
        scene.answer([1])
        let answers = try self.answers(scene)
        #expect(answers.times.count == 0 && answers.accepted == 1)
        #expect(scene.machine.counts.isConserved && scene.machine.counts.recovered == 1)
    }

    @Test func `a letter that is sent again adds no time`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.answer([1], Self.wrong)
        scene.wait(.seconds(1))
        let times = try self.answers(scene).times.count
        let letters = scene.store.page(.letters, after: [], limit: .max).compactMap { Letter($0) }
        #expect(scene.machine.retry(letters, now: scene.now) == [.done])
        scene.collect()
        scene.answer([1])
        let answers = try self.answers(scene)
        #expect(answers.times.count == times && answers.accepted == 1)
    }

    @Test func `what waited for a refused topic adds no time`() throws {
        let scene = try GatewayStoreScene()
        let connection = scene.connect()
        scene.push([1], 1, on: connection)
        scene.answer([1], .undelivered(.credentials))
        scene.push([2], 2, on: connection)
        #expect(scene.sentTokens.isEmpty)
        scene.wait(.minutes(30))
        // One each second tries the gate.
        #expect(Set(scene.sentTokens) == [[1], [2]])
        #expect(scene.acceptAll().count == 2)
        let answers = try self.answers(scene)
        #expect(answers.times.count == 0 && answers.accepted == 2)
    }
}
