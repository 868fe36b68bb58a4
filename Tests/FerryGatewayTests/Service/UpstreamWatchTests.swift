import FerryCore
import Testing

@testable import FerryGateway

@Suite struct UpstreamWatchTests {
    /// An activity with a PING for each of these answers, and its time in milliseconds.
    private static func activity(_ times: Int64...) -> ProviderActivity {
        var activity = ProviderActivity()
        for time in times {
            activity.pings.sent += 1
            activity.pings.wasAnswered(afterNanoseconds: time * 1_000_000)
        }
        return activity
    }

    @Test func `without a PING there is no time`() {
        let watch = UpstreamWatch()
        watch.observed(Self.activity())
        #expect(watch.figures.pingTimes.count == 0)
        #expect(watch.figures.lastPing == nil)
    }

    @Test func `the PINGs of a replaced provider stay in the counts, and the last time is that of the newest`() {
        let (old, new) = (UpstreamWatch(), UpstreamWatch())
        old.observed(Self.activity(10, 20))
        new.follow(old)
        #expect(new.figures.activity.pings.sent == 2)
        #expect(new.figures.lastPing == 0.02)
        old.observed(Self.activity(30))
        new.absorb()
        new.observed(Self.activity(5))
        #expect(new.figures.activity.pings.answered == 4)
        #expect(new.figures.pingTimes.count == 4)
        #expect(new.figures.pingTimes.sum == 65_000_000)
        #expect(new.figures.lastPing == 0.005)
    }

    @Test func `the times of all PINGs are in the histogram, and in no sample`() {
        let watch = UpstreamWatch()
        for _ in 0..<10_000 { watch.observed(Self.activity(3)) }
        #expect(watch.figures.pingTimes.count == 10_000)
        #expect(watch.figures.activity.pings.answered == 10_000)
        #expect(watch.figures.activity.pings.roundTrips.count == 0)
    }
}
