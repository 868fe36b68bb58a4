import FerryCore
import NIOCore
import Testing

@testable import FerryHTTP2
@testable import FerryHTTP2World

/// The times from submission to outcome.
struct HTTP2TimesTests {
    private static let confirmed = ProviderActivity.TimedOutcome(over: .http2, .confirmed)
    private static let rejected = ProviderActivity.TimedOutcome(over: .http2, .rejected)

    @Test func `the time of an outcome begins with the submission, also if the notification waited`() {
        let scenario = Scenario()
        scenario.measureTimes()
        scenario.submit(1...1)
        scenario.pass(.milliseconds(100))
        scenario.connect()
        scenario.pass(.milliseconds(200))
        scenario.answer(1)
        scenario.submit(2...2)
        scenario.pass(.milliseconds(50))
        scenario.answer(2, status: 400, "BadDeviceToken")
        // The time of an outcome ends with the turn of the event loop.
        scenario.pass(.milliseconds(1))
        let times = scenario.takeTimes()
        #expect(Set(times.keys) == [Self.confirmed, Self.rejected])
        #expect(times[Self.confirmed]?.durations == [.milliseconds(351)])
        #expect(times[Self.rejected]?.durations == [.milliseconds(51)])
        #expect(scenario.takeTimes().isEmpty)
    }

    @Test func `the time of a notification that was sent again counts from its submission`() {
        let scenario = Scenario()
        scenario.measureTimes()
        scenario.submit(1...1)
        scenario.connect()
        scenario.pass(.milliseconds(100))
        scenario.reset(1, HTTP2ErrorCode.refusedStream.rawValue)
        scenario.passUntilArrived(2, within: .seconds(9))
        #expect(scenario.arrived == [1, 1])
        let waited = scenario.now - scenario.start
        scenario.answer(1)
        #expect(scenario.takeTimes()[Self.confirmed]?.nanoseconds == [waited.nanoseconds])
    }

    @Test func `without an observer that wants them, no times are measured`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        #expect(scenario.takeTimes().isEmpty)
    }
}
