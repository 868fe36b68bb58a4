import Testing

@testable import FerryAppStore

@Suite struct FailureRateTests {
    @Test func `after a hundred failures no certificate is checked for the rest of the second`() {
        var rate = FailureRate()
        let start = ContinuousClock.now
        for _ in 0..<FailureRate.perSecond {
            #expect(rate.permits(at: start))
            rate.add(at: start)
        }
        #expect(!rate.permits(at: start + .milliseconds(999)))
        #expect(rate.permits(at: start + .seconds(1)))
    }
}
