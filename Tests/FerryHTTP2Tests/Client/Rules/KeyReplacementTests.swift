import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

/// The replacement of a key of provider tokens while notifications are under way.
@Suite struct KeyReplacementTests {
    /// Returns a connection with `count` requests under way, named from 1.
    private static func busy(_ count: UInt32) -> (Scenario, ConnectionID) {
        let scenario = Scenario(usesTokens: true)
        scenario.submit(1...count)
        let first = scenario.connect()
        scenario.answer(1)
        #expect(scenario.requests.count == Int(count) - 1)
        return (scenario, first)
    }

    @Test func `the old connection is drained and closed, and new requests go out on a new one with the new key`() {
        let (scenario, first) = Self.busy(10)
        let old = scenario.requests.compactMap { $0.fields["authorization"] }
        scenario.replaceKey()
        scenario.submit(11...12)
        #expect(scenario.requests.allSatisfy { $0.connection == first })
        let second = scenario.connect()
        #expect(second != first)
        #expect(scenario.requests.filter { $0.connection == second }.map(\.name) == [11])
        let new = scenario.requests.filter { $0.connection == second }.compactMap { $0.fields["authorization"] }
        #expect(Set(old).isDisjoint(with: new))
        #expect(scenario.finished.isEmpty)
        scenario.answerAll()
        #expect(scenario.finished == [first])
        #expect((1...12).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
        #expect(scenario.arrived.count == 12)
    }

    @Test(
        arguments: [
            (403, "InvalidProviderToken"), (403, "ExpiredProviderToken"), (403, "UnrelatedKeyIdInToken"),
            (403, "Forbidden"),
            (429, "TooManyProviderTokenUpdates"), (403, ""),
        ]
    )
    func `what is refused for the old key is sent again with the new one, once each`(status: Int, reason: String) {
        let (scenario, first) = Self.busy(10)
        scenario.replaceKey()
        scenario.answerAll(status: status, reason)
        #expect((2...10).allSatisfy { scenario.outcome($0) == nil })
        let second = scenario.connect()
        while !scenario.requests.isEmpty { scenario.answerAll() }
        #expect((1...10).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
        #expect(scenario.arrived.count == 19)
        #expect(scenario.finished == [first])
        #expect(second != first)
        // The refusal does not count against the new key.
        #expect(scenario.refused.isEmpty)
        #expect(scenario.errors.isEmpty)
    }

    @Test func `what is wrong with the notification is its outcome, whichever key it was sent with`() {
        let (scenario, _) = Self.busy(3)
        scenario.replaceKey()
        scenario.answer(2, status: 400, "BadDeviceToken")
        scenario.answer(3, status: 429, "TooManyRequests")
        guard case .rejected(let rejection)? = scenario.outcome(2) else {
            Issue.record("not rejected")
            return
        }
        #expect(rejection.reason == .badDeviceToken)
        #expect(scenario.outcome(3) == nil)
        #expect(scenario.arrived.count == 3)
    }

    @Test func `a refusal of the new key is final`() {
        let (scenario, _) = Self.busy(2)
        scenario.replaceKey()
        scenario.answer(2, status: 403, "InvalidProviderToken")
        scenario.connect()
        scenario.answer(2, status: 403, "InvalidProviderToken")
        guard case .rejected(let rejection)? = scenario.outcome(2) else {
            Issue.record("not rejected")
            return
        }
        #expect(rejection.reason == .invalidProviderToken)
        #expect(scenario.arrived.count == 3)
    }

    @Test func `a connection that was never used is kept`() {
        let scenario = Scenario(usesTokens: true)
        scenario.submit([1], isAwaited: true) { name in
            (try PushNotification(json: Scenario.payload(name)), Array("device".utf8))
        }
        scenario.replaceKey()
        scenario.withdraw(1)
        let first = scenario.connect()
        scenario.replaceKey()
        scenario.submit(2...2)
        #expect(scenario.requests.map(\.connection) == [first])
        #expect(scenario.dialCount == 1)
    }

    @Test func `what is lost with the old connection is judged as ever`() {
        let (scenario, first) = Self.busy(5)
        scenario.replaceKey()
        scenario.end(first)
        #expect((2...5).allSatisfy { scenario.outcome($0) == .uncertain(.positionUnknown) })
    }

    @Test func `a key that is replaced twice leaves no connection of the first two`() {
        let (scenario, first) = Self.busy(2)
        scenario.replaceKey()
        scenario.submit(3...3)
        let second = scenario.connect()
        scenario.replaceKey()
        scenario.submit(4...4)
        let third = scenario.connect()
        scenario.answerAll()
        #expect(Set([first, second, third]).count == 3)
        #expect(Set(scenario.finished) == [first, second])
        #expect((1...4).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
    }
}
