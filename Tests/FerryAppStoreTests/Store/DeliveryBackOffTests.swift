import Testing

@testable import FerryAppStore

@Suite struct DeliveryBackOffTests {
    @Test func `the pause doubles up to an hour`() {
        let delays = (1...14).map { DeliveryBackOff.delay(afterAttempt: $0, failing: .zero) }
        #expect(delays.prefix(4) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
        #expect(delays.last == .seconds(3600))
        #expect(DeliveryBackOff.delay(afterAttempt: .max, failing: .zero) == .seconds(3600))
    }

    @Test func `a clock that was set does not end a delivery after a few attempts`() {
        #expect(DeliveryBackOff.delay(afterAttempt: DeliveryBackOff.fewest - 1, failing: .seconds(400 * 86_400)) != nil)
        #expect(DeliveryBackOff.delay(afterAttempt: DeliveryBackOff.fewest, failing: .seconds(400 * 86_400)) == nil)
    }

    @Test func `after three days of failures a delivery is set aside`() {
        #expect(DeliveryBackOff.delay(afterAttempt: 80, failing: .seconds(3 * 86_400 - 1)) != nil)
        #expect(DeliveryBackOff.delay(afterAttempt: 80, failing: .seconds(3 * 86_400)) == nil)
    }
}
