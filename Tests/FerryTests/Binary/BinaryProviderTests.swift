import Ferry
import FerryTesting
import Testing

@Suite(.inEveryArrangement, .namingTheArrangement) struct BinaryProviderTests {
    @Test func `what the gateway rejects is rejected, and everything else arrives once`() async throws {
        let bad = [3, 700, 701, 1999]
        try await Harness.run(GatewayScript(rules: [.reject(Harness.devices(bad))])) { harness in
            let provider = try TestedProvider(harness.proving)
            try await Harness.submit(0..<2000, to: provider)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.unsettled == 0)
            #expect(report.outcomes.accepted == 1996)
            #expect(report.outcomes.rejected == 4)
            let arrived = try harness.arrived
            let outcomes = harness.outcomes.all
            for number in 0..<2000 {
                #expect(arrived[number] == (bad.contains(number) ? nil : 1))
                #expect(outcomes[number]?.count == 1)
            }
        }
    }
}
