import Testing

@testable import FerryAdmin

@Suite struct RateHistoryTests {
    @Test func `a step has what happened in its ten seconds`() {
        var history = RateHistory(now: 100)
        history.note(.init(read: 5, accepted: 4), now: 105)
        history.note(.init(read: 9, accepted: 8), now: 110)
        history.note(.init(read: 9, accepted: 9, rejected: 1), now: 121)
        #expect(history.steps == [.init(read: 9, accepted: 8), .init(accepted: 1, rejected: 1)])
    }

    @Test func `the rate counts the present step and the last one`() {
        var history = RateHistory(now: 0)
        history.note(.init(read: 100), now: 10)
        history.note(.init(read: 150), now: 15)
        #expect(history.rate(now: 15).read == 10)
    }

    @Test func `the rate of the first moment is no division by zero`() {
        #expect(RateHistory(now: 7).rate(now: 7).read == 0)
    }

    @Test func `a history of a year has no more steps than one of an hour`() {
        var history = RateHistory(now: 0)
        for second in stride(from: 0, to: 400_000, by: 10) { history.note(.init(read: second), now: second) }
        #expect(history.steps.count == RateHistory.limit)
        history.note(.init(read: 400_001), now: 40_000_000)
        #expect(history.steps.count <= RateHistory.limit)
    }
}
