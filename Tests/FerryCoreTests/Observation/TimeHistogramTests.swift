import Testing

@testable import FerryCore

@Suite struct TimeHistogramTests {
    @Test func `a quantile lies in the bucket of its time`() throws {
        var times = TimeHistogram()
        for _ in 0..<99 { times.add(nanoseconds: 3_000_000) }
        times.add(nanoseconds: 4_000_000_000)
        let half = try #require(times.quantile(0.5))
        let most = try #require(times.quantile(0.999))
        #expect((0.002...0.005).contains(half))
        #expect((2...5).contains(most))
    }

    @Test func `no time has no quantile, and a negative one counts as none`() {
        var times = TimeHistogram()
        #expect(times.quantile(0.5) == nil)
        times.add(nanoseconds: -5)
        #expect(times.count == 1 && times.sum == 0)
    }

    @Test func `recent times forget what is older than two windows`() {
        var times = RecentTimes()
        times.add(nanoseconds: 1, now: 0)
        #expect(times.times(now: 61_000_000_000).count == 1)
        times.add(nanoseconds: 1, now: 62_000_000_000)
        #expect(times.times(now: 62_000_000_000).count == 2)
        #expect(times.times(now: 122_000_000_000).count == 1)
        #expect(times.times(now: 400_000_000_000).count == 0)
    }
}
