import Ferry
import FerryTesting
import Synchronization
import Testing

/// Tests of connections on which the peer does no work, over real sockets.
@Suite(.timeLimit(.minutes(10))) struct UselessConnectionTests {
    private static let failures = [
        RawAPNs.Answer(status: 500, body: #"{"reason":"InternalServerError"}"#), RawAPNs.Answer(isRefusal: true),
    ]

    @Test(arguments: 0..<2)
    func `a connection that stops working costs no notification while a new one works`(failure: Int) async throws {
        let arrived = Mutex(0)
        try await RawAPNs.run { request in
            guard request.connection == 1 else { return .init() }
            let number = arrived.withLock { count in
                count += 1
                return count
            }
            // Until then the window is as large as it can be.
            return number <= 1500 ? .init() : Self.failures[failure]
        } _: { apns in
            let outcomes = OutcomeCollector()
            let provider = try HTTP2Provider(apns.configuration(nil, outcomes))
            try await Harness.submit(0..<4000, to: provider)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.confirmed == 4000)
            #expect(apns.connections == 2)
        }
    }

    @Test(arguments: 0..<2)
    func `if no connection works, one event says so`(failure: Int) async throws {
        try await RawAPNs.run { _ in
            Self.failures[failure]
        } _: { apns in
            var configuration = try apns.configuration(nil, OutcomeCollector())
            configuration.options.backOff = .milliseconds(100) ... .seconds(1)
            let provider = try HTTP2Provider(configuration)
            let watched = provider.events(bufferingNewest: 100_000)
            let events = provider.events(bufferingNewest: 100_000)
            try await Harness.submit(0..<1000, to: provider)
            for await event in watched { if case .error = event { break } }
            let report = await provider.shutDown(within: .milliseconds(500))
            // One request may be under way.
            #expect(report.outcomes.confirmed == 0 && report.outcomes.uncertain <= 1)
            let alarms = await events.all().count { if case .error = $0 { true } else { false } }
            #expect(alarms == 1)
        }
    }
}
