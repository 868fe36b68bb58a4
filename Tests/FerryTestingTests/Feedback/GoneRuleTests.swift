internal import FerryCore
internal import FerryTesting
import Foundation
internal import NIOCore
internal import Testing

@Suite(.timeLimit(.minutes(10)))
struct GoneRuleTests {
    @Test func `a rule for gone devices accepts their notifications and names the devices`() {
        let recorder = GatewayMemoryRecorder()
        let rules = GatewayRules(
            GatewayScript(rules: [.gone([device(2)], since: Date(timeIntervalSince1970: 7)), .reject([device(4)])])
        )
        var machine = SimulatedGatewayMachine(rules: rules, recorder: recorder)
        let actions = machine.received(ByteBuffer(bytes: frames(1...3)), at: .zero)
        #expect(actions == [.gone(token: token(2), since: Date(timeIntervalSince1970: 7))])
        #expect(machine.counts.accepted == 3)
        #expect(recorder.notifications.map(\.accepted.identifier) == [1, 2, 3])
    }

    @Test func `a rule for gone devices is refused together with a number of notifications`() {
        let rule = GatewayRule(after: 1, action: .gone)
        var machine = SimulatedGatewayMachine(rules: GatewayRules(GatewayScript(rules: [rule])))
        #expect(machine.received(ByteBuffer(bytes: frames(1...2)), at: .zero).isEmpty)
        #expect(throws: DecodingError.self) {
            try GatewayScript(json: Array(#"{"rules": [{"after": 1, "action": "gone"}]}"#.utf8))
        }
    }

    @Test
    func `a rule for gone devices adds each device once to the list of the service beside the gateway`() async throws {
        let service = try await SimulatedFeedback.start(.init(credentials: TestCredentials()))
        let script = GatewayScript(rules: [
            .gone([device(2)], since: Date(timeIntervalSince1970: 7)), GatewayRule(at: 3, action: .gone),
        ])
        try await withGateway(script, configure: { $0.feedback = service }) { fixture in
            let client = try await fixture.connect()
            client.send(frames(1...3) + frames(2...2))
            await fixture.recorder.count(reaches: 4)
            client.finish()
            _ = try await client.end()
            #expect(service.tuples.map(\.token) == [token(2), token(3)])
            #expect(service.tuples.first?.time == Date(timeIntervalSince1970: 7))
            #expect(try #require(service.tuples.last?.time) > Date(timeIntervalSince1970: 1_700_000_000))
        }
        await service.stop()
    }
}
