import FerryMachine
import NIOCore
import Testing

@Suite struct RetryLimitTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000)

    @Test func `a number allows as many failures, however long they take`() {
        let limit = RetryLimit(count: 3, time: nil)
        let late = Self.start + .hours(10)
        #expect(!limit.isReached(3, since: Self.start, now: late))
        #expect(limit.isReached(4, since: Self.start, now: Self.start))
        #expect(limit.bounded(.seconds(30), since: Self.start, now: late) == .seconds(30))
    }

    @Test func `a time allows any number of failures until it is over, and an attempt at its end`() {
        let limit = RetryLimit(count: nil, time: .seconds(30))
        #expect(!limit.isReached(1_000, since: Self.start, now: Self.start + .seconds(29)))
        #expect(limit.isReached(1, since: Self.start, now: Self.start + .seconds(30)))
        #expect(limit.bounded(.seconds(8), since: Self.start, now: Self.start + .seconds(10)) == .seconds(8))
        #expect(limit.bounded(.seconds(30), since: Self.start, now: Self.start + .seconds(10)) == .seconds(20))
        #expect(limit.bounded(.seconds(30), since: Self.start, now: Self.start + .seconds(40)) == .zero)
    }

    @Test func `zero allows no failure`() {
        #expect(RetryLimit(count: 0, time: nil).isReached(1, since: Self.start, now: Self.start))
        #expect(RetryLimit(count: nil, time: .zero).isReached(1, since: Self.start, now: Self.start))
    }

    @Test func `without a number and a time the limit is never reached`() {
        let limit = RetryLimit(count: nil, time: nil)
        #expect(!limit.isReached(.max, since: Self.start, now: Self.start + .hours(1_000)))
    }
}
