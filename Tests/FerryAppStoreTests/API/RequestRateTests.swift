import Testing

@testable import FerryAppStore

@Suite struct RequestRateTests {
    @Test("A few requests go at once, then they keep the pace")
    func pace() {
        var rate = RequestRate(perSecond: 2)
        for _ in 0..<RequestRate.burst { #expect(rate.reserve(at: .seconds(5)) == .zero) }
        #expect(rate.reserve(at: .seconds(5)) == .milliseconds(500))
        #expect(rate.reserve(at: .seconds(5)) == .seconds(1))
        // The two that wait go at 5.5 and 6 s.
        #expect(rate.reserve(at: .seconds(6)) == .milliseconds(500))
        #expect(rate.reserve(at: .seconds(1000)) == .zero)
    }

    @Test("No hour has more requests than Apple counts", arguments: [50.0, 5, 1, 0.1])
    func hour(_ perSecond: Double) {
        var rate = RequestRate(perSecond: perSecond)
        var (now, times): (Duration, [Duration]) = (.zero, [])
        let limit = Int(perSecond * 3600)
        for _ in 0..<limit + 20 {
            now += rate.reserve(at: now)
            times.append(now)
        }
        #expect(times.filter { $0 < .seconds(3600) }.count <= limit)
        #expect(times[limit] >= .seconds(3600))
        #expect(times[limit] < .seconds(3700))
    }

    @Test("After Apple's refusal no request goes before the time that it named")
    func held() {
        var rate = RequestRate(perSecond: 50)
        rate.hold(until: .seconds(30))
        rate.hold(until: .seconds(20))
        #expect(rate.reserve(at: .seconds(10)) == .seconds(20))
        #expect(rate.reserve(at: .seconds(31)) == .zero)
    }

    @Test("The sandbox has a tenth")
    func sandbox() {
        for kind in RateKind.allCases {
            #expect(kind.perSecond(.sandbox) * 10 == kind.perSecond(.production))
        }
        #expect(RateKind.notificationHistory.perSecond(.production) == 50)
        #expect(RateKind.testNotification.perSecond(.production) == 1)
    }
}
