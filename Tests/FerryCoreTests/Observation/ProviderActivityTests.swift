import Testing

@testable import FerryCore

@Suite struct ProviderActivityTests {
    private static let slow = ProviderActivity.TimedOutcome(over: .binary, .presumed)
    private static let fast = ProviderActivity.TimedOutcome(over: .http2, .confirmed)

    private static func sample(_ nanoseconds: Int64...) -> DurationSample {
        var sample = DurationSample()
        for time in nanoseconds { sample.add(nanoseconds: time) }
        return sample
    }

    @Test func `the times and the PINGs of several turns add up`() {
        var sum = ProviderActivity()
        var turn = ProviderActivity()
        turn.times = [Self.slow: Self.sample(1, 2)]
        turn.pings.sent = 1
        sum.add(turn)
        turn.times = [Self.slow: Self.sample(3), Self.fast: Self.sample(4)]
        turn.pings.wasAnswered(afterNanoseconds: 5)
        sum.add(turn)
        #expect(sum.times == [Self.slow: Self.sample(1, 2, 3), Self.fast: Self.sample(4)])
        #expect(sum.pings.sent == 2 && sum.pings.answered == 1)
        #expect(sum.pings.roundTrips == Self.sample(5))
    }

    @Test func `each outcome has its kind`() {
        let outcomes: [Outcome] = [
            .accepted(.confirmed), .accepted(.presumed), .rejected(Rejection(reason: .badDeviceToken, origin: .apns)),
            .expired, .undelivered(.shutDown), .uncertain(.shutDown),
        ]
        #expect(outcomes.map { OutcomeKind($0) } == OutcomeKind.allCases)
        #expect(OutcomeKind.allCases.map { Int($0.rawValue) } == Array(0..<outcomes.count))
    }
}
