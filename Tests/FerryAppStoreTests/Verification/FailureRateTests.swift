import Testing

@testable import FerryAppStore

@Suite struct FailureRateTests {
    @Test("After a hundred failures nothing is looked at for the rest of the second")
    func limit() {
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
