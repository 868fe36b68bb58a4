import Ferry
import FerryTesting
import Testing

@testable import FerryGateway

/// The same promise as ``OtherConnectionTests``, with sockets.
@Suite(.timeLimit(.minutes(5))) struct OtherConnectionSocketTests {
    @Test func `APNs gets what it took and reset once more, over another connection`() async throws {
        let lost = try GatewayHarness.device(3)
        let rule = HTTP2Rule(tokens: [lost], times: 1, action: .loseAnswer)
        try await GatewayHarness.run([rule]) { harness in
            let notification = try PushNotification(Payload(alert: "Hello"))
            try await withProvider(harness.client) { provider in
                for number in 0..<6 {
                    var batch = PushBatch()
                    try batch.append(notification, to: GatewayHarness.device(number), tag: PushTag(UInt64(number)))
                    try await provider.submit(&batch)
                }
                _ = await provider.shutDown(within: GatewayHarness.forever)
            }
            while try await harness.gateway.counts.unanswered > 0 { await Task.yield() }
            let arrivals = harness.recorder.requests.filter { $0.token == lost }
            #expect(arrivals.count == 2)
            #expect(Set(arrivals.map(\.accepted.connection)).count == 2, "\(arrivals)")
            #expect(Set(arrivals.map(\.accepted.apnsID)).count == 1)
            #expect(harness.recorder.requests.count == 7)
        }
    }
}
