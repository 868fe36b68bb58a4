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

    /// The rate that is shown so many seconds after a minute at another rate. The counts are noted each second.
    private static func rate(_ rate: Int, then next: Int, for seconds: Int) -> Double {
        var (history, total) = (RateHistory(now: 0), 0)
        for second in 1...60 + seconds {
            total += second <= 60 ? rate : next
            history.note(.init(read: total), now: Double(second))
        }
        return history.rate(now: Double(60 + seconds)).read
    }

    @Test(arguments: [(0, 200), (100, 500), (20, 400), (500, 100), (400, 0), (0, 2)])
    func `a jump of the rate shows within three seconds`(_ rates: (Int, Int)) {
        for seconds in 3...30 {
            #expect(Self.rate(rates.0, then: rates.1, for: seconds) == Double(rates.1), "after \(seconds) s")
        }
    }

    @Test func `a few events make a steady rate`() {
        var history = RateHistory(now: 0)
        for second in 1...120 {
            history.note(.init(read: second / 10), now: Double(second))
            guard second >= 30 else { continue }
            #expect((0.05...0.15).contains(history.rate(now: Double(second)).read), "after \(second) s")
        }
    }

    @Test func `a reader who comes after a long time gets the rate of that time`() {
        var history = RateHistory(now: 0)
        history.note(.init(read: 0), now: 100)
        history.note(.init(read: 50), now: 105)
        #expect(history.rate(now: 105).read == 10)
    }

    @Test func `the rate of the first moment is no division by zero`() {
        #expect(RateHistory(now: 7).rate(now: 7).read == 0)
    }

    @Test func `a history of a year has no more steps than one of an hour`() {
        var history = RateHistory(now: 0)
        for second in stride(from: 0, to: 400_000, by: 10) { history.note(.init(read: second), now: Double(second)) }
        #expect(history.steps.count == RateHistory.limit)
        history.note(.init(read: 400_001), now: 40_000_000)
        #expect(history.steps.count <= RateHistory.limit)
    }
}
