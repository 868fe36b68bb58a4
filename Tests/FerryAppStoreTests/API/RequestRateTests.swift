import Testing

@testable import FerryAppStore

@Suite struct RequestRateTests {
    /// A rate whose requests may wait for ever. A class, so that expectations can change it.
    private final class Requests {
        var rate: RequestRate

        init(perSecond: Double) { self.rate = RequestRate(perSecond: perSecond) }

        func wait(at now: Duration) -> Duration? {
            guard case .taken(let wait) = self.rate.reserve(at: now, within: .seconds(100_000)) else { return nil }
            return wait
        }
    }

    @Test func `a few requests go at once, and later ones keep the pace`() {
        let requests = Requests(perSecond: 2)
        for _ in 0..<RequestRate.burst { #expect(requests.wait(at: .seconds(5)) == .zero) }
        #expect(requests.wait(at: .seconds(5)) == .milliseconds(500))
        #expect(requests.wait(at: .seconds(5)) == .seconds(1))
        // The two that wait go at 5.5 and 6 s.
        #expect(requests.wait(at: .seconds(6)) == .milliseconds(500))
        #expect(requests.wait(at: .seconds(1000)) == .zero)
    }

    @Test(arguments: [50.0, 5, 1, 0.1])
    func `no hour has more requests than Apple counts`(_ perSecond: Double) {
        let requests = Requests(perSecond: perSecond)
        var (now, times): (Duration, [Duration]) = (.zero, [])
        let limit = Int(perSecond * 3600)
        for _ in 0..<limit + 20 {
            now += requests.wait(at: now) ?? .zero
            times.append(now)
        }
        #expect(times.filter { $0 < .seconds(3600) }.count <= limit)
        #expect(times[limit] >= .seconds(3600))
        #expect(times[limit] < .seconds(3700))
    }

    @Test func `after Apple's refusal no request goes before the time that Apple named`() {
        let requests = Requests(perSecond: 50)
        requests.rate.hold(until: .seconds(30))
        requests.rate.hold(until: .seconds(20))
        #expect(requests.wait(at: .seconds(10)) == .seconds(20))
        #expect(requests.wait(at: .seconds(31)) == .zero)
    }

    @Test func `a request that may not wait long enough takes no place from later ones`() {
        let requests = Requests(perSecond: 0.1)
        requests.rate.hold(until: .seconds(1000))
        for second in 0..<600 {
            let wait: Duration = .seconds(1000 - second)
            let reservation = requests.rate.reserve(at: .seconds(second), within: .seconds(180))
            #expect(reservation == .tooLate(wait: wait))
        }
        #expect(requests.wait(at: .seconds(1000)) == .zero)
    }

    @Test func `the sandbox has a tenth of the limits`() {
        for kind in RateKind.allCases {
            #expect(kind.perSecond(.sandbox) * 10 == kind.perSecond(.production))
        }
        #expect(RateKind.notificationHistory.perSecond(.production) == 50)
        #expect(RateKind.testNotification.perSecond(.production) == 1)
    }
}
