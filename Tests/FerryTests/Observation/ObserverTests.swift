import Ferry
import FerryTesting
import Synchronization
import Testing

/// Tests of what a provider tells its observer, with either protocol.
@Suite(.timeLimit(.minutes(10)))
struct ObserverTests {
    /// Adds up what an observer was told.
    final class Sum: ProviderObserver {
        struct Told {
            var total = ProviderActivity()
            var calls = 0
            var mostConnections = 0
        }

        private let told = Mutex(Told())
        private let turns = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

        var now: Told { self.told.withLock { $0 } }

        func observed(_ activity: ProviderActivity) {
            self.told.withLock { told in
                told.calls += 1
                told.total.taken += activity.taken
                told.total.connected += activity.connected
                told.total.disconnected += activity.disconnected
                told.total.resent += activity.resent
                told.total.outcomes.confirmed += activity.outcomes.confirmed
                told.total.outcomes.presumed += activity.outcomes.presumed
                told.total.outcomes.rejected += activity.outcomes.rejected
                told.total.outcomes.expired += activity.outcomes.expired
                told.total.contradicted += activity.contradicted
                told.total.outcomes.undelivered += activity.outcomes.undelivered
                told.total.outcomes.uncertain += activity.outcomes.uncertain
                told.total.causes.rejected.merge(activity.causes.rejected, uniquingKeysWith: +)
                told.total.causes.undelivered.merge(activity.causes.undelivered, uniquingKeysWith: +)
                told.total.causes.uncertain.merge(activity.causes.uncertain, uniquingKeysWith: +)
                told.total.failures.merge(activity.failures, uniquingKeysWith: +)
                told.total.pings.sent += activity.pings.sent
                told.total.pings.answered += activity.pings.answered
                told.total.pings.unanswered += activity.pings.unanswered
                told.total.standing = activity.standing
                told.mostConnections = max(told.mostConnections, activity.standing.connections)
            }
            self.turns.continuation.yield()
        }

        /// Waits until what was told so far fulfils a condition.
        func waitUntil(_ isFulfilled: (ProviderActivity) -> Bool) async {
            for await _ in self.turns.stream where isFulfilled(self.now.total) { return }
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `the turns of a run add up to its report, and everything is at rest at the end`(tested: TestedProtocol)
        async throws
    {
        let sum = Sum()
        try await tested.run(TestedProtocol.Trouble(bad: [3, 700, 1999], endsEvery: 900), observer: sum) { run in
            try await Harness.submit(0..<2000, to: run.provider)
            let report = await run.provider.shutDown(within: Harness.forever, proof: .silence)
            let told = sum.now
            #expect(told.total.taken == 2000)
            #expect(told.total.outcomes == report.outcomes)
            #expect(told.total.causes.rejected.values.reduce(0, +) == 3)
            #expect(Set(told.total.causes.rejected.keys).isSubset(of: [.badDeviceToken, .unregistered]))
            #expect(told.total.resent == report.resent)
            #expect(told.total.connected >= 2)
            #expect(told.total.connected == told.total.disconnected)
            #expect(told.mostConnections >= 1)
            #expect(told.total.standing == ProviderActivity.Standing())
            // One call tells of many notifications.
            #expect(told.calls < 1000)
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `what is given up has its cause, and an awaited notification counts like any other`(tested: TestedProtocol)
        async throws
    {
        let sum = Sum()
        try await tested.run(TestedProtocol.Trouble(isSilent: true), observer: sum) { run in
            try await Harness.submit(0..<100, to: run.provider)
            let provider = run.provider
            let device = try Harness.device(100)
            async let outcome = provider.send(PushNotification(json: #"{"aps":{}}"#.utf8), to: device)
            await sum.waitUntil { $0.taken == 101 }
            _ = await run.provider.shutDown(within: .milliseconds(100), proof: .silence)
            #expect(try await !outcome.isAccepted)
            let total = sum.now.total
            #expect(total.outcomes.undelivered + total.outcomes.uncertain == 101)
            #expect(total.causes.undelivered[.shutDown, default: 0] == total.outcomes.undelivered)
            #expect(total.causes.uncertain[.shutDown, default: 0] == total.outcomes.uncertain)
            #expect(total.standing == ProviderActivity.Standing())
        }
    }

    @Test func `outcomes that nobody has read keep no gauge up after the end`() async throws {
        try await Harness.run { harness in
            let sum = Sum()
            var configuration = harness.proving
            configuration.outcomes = .stream
            configuration.observer = sum
            let provider = try BinaryProvider(configuration)
            try await Harness.submit(0..<10, to: provider)
            let report = await provider.shutDown(within: Harness.forever, proof: .silence)
            #expect(report.outcomes.accepted == 10)
            #expect(sum.now.total.standing == ProviderActivity.Standing())
            var read = 0
            for await _ in provider.outcomes { read += 1 }
            #expect(read == 10)
        }
    }

    @Test func `outcomes that turn out wrong are counted`() async throws {
        var script = GatewayScript()
        script.errorDelay = .milliseconds(400)
        script.rules = [.reject(try Harness.devices([5]))]
        try await Harness.run(script) { harness in
            let sum = Sum()
            var configuration = harness.configuration
            configuration.options.settleTime = .milliseconds(20)
            configuration.options.idleTimeout = nil
            configuration.observer = sum
            let provider = try BinaryProvider(configuration)
            let events = provider.events(bufferingNewest: 64)
            try await Harness.submit(0..<10, to: provider)
            for await event in events { if case .contradicted = event { break } }
            let report = await provider.shutDown(within: Harness.forever, proof: .silence)
            #expect(report.contradicted > 0)
            #expect(sum.now.total.contradicted == report.contradicted)
            #expect(sum.now.total.outcomes == report.outcomes)
        }
    }

    @Test func `a dropped provider tells its observer of what it gave up`() async throws {
        let sum = Sum()
        try await TestedProtocol.http2.run(TestedProtocol.Trouble(isSilent: true), observer: sum) { run in
            try await Harness.submit(0..<50, to: run.provider)
        }
        await sum.waitUntil { $0.outcomes.settled == 50 }
        #expect(sum.now.total.causes.undelivered[.released, default: 0] == sum.now.total.outcomes.undelivered)
        #expect(sum.now.total.causes.uncertain[.released, default: 0] == sum.now.total.outcomes.uncertain)
    }

    @Test func `the PINGs of a quiet connection are counted`() async throws {
        try await TestedProtocol.withAPNs { configuration, _ in
            let sum = Sum()
            var configuration = configuration
            configuration.observer = sum
            configuration.options.pingInterval = .milliseconds(100)
            let provider = try HTTP2Provider(configuration)
            try await Harness.submit(0..<1, to: provider)
            await sum.waitUntil { $0.pings.answered > 0 }
            await provider.shutDown(within: Harness.forever)
            let pings = sum.now.total.pings
            #expect(pings.sent >= pings.answered && pings.unanswered == 0)
        }
    }

    @Test func `trouble with connections is counted by its kind`() async throws {
        let sum = Sum()
        // Port 1 of loopback refuses connections.
        var configuration = BinaryConfiguration(host: "127.0.0.1", port: 1, outcomes: .discard)
        configuration.options.connectionRetryLimit = 2
        configuration.options.backOff = .milliseconds(1) ... .milliseconds(1)
        configuration.observer = sum
        let provider = try BinaryProvider(configuration)
        try await Harness.submit(0..<5, to: provider)
        let report = await provider.drain(within: Harness.forever)
        #expect(report.outcomes.undelivered == 5)
        // The first failure, two more, and the end of the queue.
        #expect(sum.now.total.failures == [.connectFailed: 3, .connectionRetryLimit: 1])
        #expect(sum.now.total.causes.undelivered == [.noConnection: 5])
        await provider.shutDown(within: Harness.forever)
    }
}
