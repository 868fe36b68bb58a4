import Ferry
import FerryTesting
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Testing

@Suite(.timeLimit(.minutes(10)), .inEveryArrangement, .namingTheArrangement)
struct LifetimeTests {
    private struct Failure: Error {}

    private static func quick(_ harness: Harness) -> BinaryConfiguration {
        var configuration = harness.configuration
        configuration.options.settleTime = .milliseconds(50)
        return configuration
    }

    /// Expects that a cache of 10 was written, and nothing more. The second of two loops may not have written its half yet.
    private func expectCacheWritten(_ written: Set<Int>, unwritten: Set<Int>, of all: Range<Int>) {
        #expect(written.union(unwritten) == Set(all))
        #expect(written.isDisjoint(with: unwritten))
        if Arrangement.current.loops == 1 { #expect(written == Set(all.prefix(10))) }
        #expect(written.count == 10 || written.count == 10 / Arrangement.current.loops)
    }

    @Test func `a shutdown within no time gives every notification its outcome`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = Harness.forever
            configuration.options.cacheLength = 10
            configuration.options.autoAdjustCache = false
            let provider = try TestedProvider(configuration)
            let events = provider.events(bufferingNewest: 100)
            try await Harness.submit(0..<100, to: provider)
            _ = await events.first { if case .transmitted = $0 { true } else { false } }
            let report = await provider.shutDown(within: .zero)
            #expect(report.unsettled == 0)
            self.expectCacheWritten(
                harness.outcomes.numbers { $0 == .uncertain(.shutDown) },
                unwritten: harness.outcomes.numbers { $0 == .undelivered(.shutDown) },
                of: 0..<100
            )
        }
    }

    @Test func `a drain leaves the provider usable`() async throws {
        try await Harness.run { harness in
            let provider = try TestedProvider(Self.quick(harness))
            try await Harness.submit(0..<10, to: provider)
            #expect(await provider.drain(within: Harness.forever).unsettled == 0)
            try await Harness.submit(10..<20, to: provider)
            let early = await provider.drain(within: .zero)
            #expect(early.unsettled + early.outcomes.presumed == 20)
            #expect(await provider.drain(within: .seconds(Int64.max)).outcomes.presumed == 20)
            _ = await provider.shutDown(within: .seconds(Int64.max))
        }
    }

    @Test func `a drain without time says how many have no outcome`() async throws {
        var script = GatewayScript()
        script.handshake = .silent
        try await Harness.run(script) { harness in
            let provider = try TestedProvider(harness.configuration)
            try await Harness.submit(0..<10, to: provider)
            #expect(await provider.drain(within: .zero).unsettled == 10)
            _ = await provider.shutDown(within: .zero)
        }
    }

    @Test func `dropping the last reference ends what there is and closes the connections`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = Harness.forever
            configuration.options.cacheLength = 10
            configuration.options.autoAdjustCache = false
            let events: ProviderEvents
            weak var dropped: TestedProvider?
            do {
                let provider = try TestedProvider(configuration)
                dropped = provider
                events = provider.events(bufferingNewest: 100)
                try await Harness.submit(0..<30, to: provider)
                _ = await events.first { if case .transmitted = $0 { true } else { false } }
            }
            #expect(dropped == nil)
            await harness.outcomes.count(reaches: 30)
            self.expectCacheWritten(
                harness.outcomes.numbers { $0 == .uncertain(.released) },
                unwritten: harness.outcomes.numbers { $0 == .undelivered(.released) },
                of: 0..<30
            )
            let isLast = await events.all().contains { if case .disconnected(_, open: 0) = $0 { true } else { false } }
            #expect(isLast)
        }
    }

    @Test func `a provider that is dropped while it connects leaves nothing behind`() async throws {
        var script = GatewayScript()
        script.handshake = .silent
        try await Harness.run(script) { harness in
            for _ in 0..<20 {
                let provider = try TestedProvider(Self.quick(harness))
                try await Harness.submit(0..<1, to: provider)
            }
            await harness.outcomes.count(reaches: 20)
            #expect(harness.outcomes.all[0]?.allSatisfy { $0 == .undelivered(.released) } == true)
        }
    }

    @Test func `withProvider drains on return`() async throws {
        try await Harness.run { harness in
            let sum = try await withProvider(Self.quick(harness).tested) { provider in
                try await Harness.submit(0..<20, to: provider)
                return 42
            }
            #expect(sum == 42)
            #expect(harness.outcomes.numbers(where: \.isAccepted).count == 20)
        }
    }

    @Test func `withProvider reads the outcomes beside its body, to the last`() async throws {
        try await Harness.run { harness in
            var configuration = Self.quick(harness)
            configuration.outcomes = .stream
            configuration.options.queueLimit = 5
            let read = OutcomeCollector()
            try await withProvider(configuration.tested) { provider in
                try await Harness.submit(0..<20, to: provider)
            } outcomes: { outcomes in
                for await record in outcomes { read.settled([record].span) }
            }
            #expect(read.numbers(where: \.isAccepted) == Set(0..<20))
        }
    }

    @Test func `withProvider's reader gets the outcomes of what its body left behind when it threw`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.outcomes = .stream
            configuration.options.settleTime = Harness.forever
            let read = OutcomeCollector()
            await #expect(throws: Failure.self) {
                try await withProvider(configuration.tested) { provider in
                    try await Harness.submit(0..<20, to: provider)
                    throw Failure()
                } outcomes: { outcomes in
                    for await record in outcomes { read.settled([record].span) }
                }
            }
            #expect(read.all.count == 20)
        }
    }

    @Test func `a reader that returns early does not hold up the body`() async throws {
        try await Harness.run { harness in
            var configuration = Self.quick(harness)
            configuration.options.queueLimit = 5
            let (report, first) = try await withProvider(configuration.tested) { provider in
                try await Harness.submit(0..<50, to: provider)
            } outcomes: { outcomes in
                await outcomes.first { _ in true }
            }
            #expect(first != nil)
            #expect(report.outcomes.accepted == 50)
        }
    }

    @Test func `a reader sees every outcome when its task is cancelled`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = Harness.forever
            let read = OutcomeCollector()
            let submitted = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)
            let task = Task { [configuration] in
                try await withProvider(configuration.tested, drainingWithin: Harness.forever) { provider in
                    let connected = provider.events(bufferingNewest: 10)
                    try await Harness.submit(0..<20, to: provider)
                    await connected.transmitted(20)
                    submitted.succeed()
                } outcomes: { outcomes in
                    for await record in outcomes { read.settled([record].span) }
                }.report
            }
            try await submitted.futureResult.get()
            task.cancel()
            let report = try await task.value
            #expect(report.outcomes.uncertain == 20)
            #expect(read.all.count == 20)
        }
    }

    @Test func `a body without a result gives the report`() async throws {
        try await Harness.run { harness in
            let report = try await withProvider(Self.quick(harness).tested) { try await Harness.submit(0..<20, to: $0) }
            #expect(report.outcomes.accepted == 20)
        }
    }

    @Test func `any provider shuts down with one argument`() async throws {
        try await Harness.run { harness in
            let provider: any PushProvider = try TestedProvider(Self.quick(harness))
            try await provider.submit(contentsOf: [])
            await provider.shutDown(within: Harness.forever)
            await #expect(throws: SubmitError.shutDown) { try await Harness.submit(0..<1, to: provider) }
        }
    }

    @Test func `withProvider shuts down at once when its body throws`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = Harness.forever
            await #expect(throws: Failure.self) {
                try await withProvider(configuration.tested) { provider in
                    try await Harness.submit(0..<20, to: provider)
                    throw Failure()
                }
            }
            #expect(harness.outcomes.all.count == 20)
        }
    }

    @Test func `withProvider shuts down at once when its task is cancelled`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = Harness.forever
            let events = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)
            let task = Task { [configuration] in
                try await withProvider(configuration.tested) { provider in
                    let connected = provider.events(bufferingNewest: 10)
                    try await Harness.submit(0..<20, to: provider)
                    await connected.transmitted(20)
                    events.succeed()
                    _ = await provider.events(bufferingNewest: 1).first { _ in false }
                }
            }
            try await events.futureResult.get()
            task.cancel()
            _ = try await task.value
            #expect(harness.outcomes.all.count == 20)
            #expect(harness.outcomes.all.values.allSatisfy { $0 == [.uncertain(.shutDown)] })
        }
    }

    @Test func `a reader, the provider and the group end without an error`() async throws {
        try await Harness.run { harness in
            var configuration = Self.quick(harness)
            configuration.outcomes = .stream
            let provider = try TestedProvider(configuration)
            let group = ServiceGroup(
                services: [OutcomeReader(outcomes: provider.outcomes, logger: Logger(label: "test")), provider],
                logger: Logger(label: "test")
            )
            try await Harness.submit(0..<20, to: provider)
            async let running: Void = group.run()
            await group.triggerGracefulShutdown()
            try await running
            #expect(provider.counts.accepted == 20)
        }
    }

    @Test func `a service group drains it on graceful shutdown`() async throws {
        try await Harness.run { harness in
            let provider = try TestedProvider(Self.quick(harness))
            let group = ServiceGroup(services: [provider], logger: Logger(label: "test"))
            async let running: Void = group.run()
            try await Harness.submit(0..<20, to: provider)
            await group.triggerGracefulShutdown()
            try await running
            #expect(harness.outcomes.numbers(where: \.isAccepted).count == 20)
            await #expect(throws: SubmitError.shutDown) { try await Harness.submit(0..<1, to: provider) }
        }
    }

    @Test func `a service whose task is cancelled shuts down at once`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = Harness.forever
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<20, to: provider)
            let task = Task { try await provider.run() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(harness.outcomes.all.count == 20)
        }
    }

    @Test func `an event loop group that is shut down first ends everything and blocks nobody`() async throws {
        try await Harness.run { harness in
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            var configuration = harness.configuration
            configuration.options.settleTime = Harness.forever
            configuration.eventLoopGroup = group
            let provider = try TestedProvider(configuration)
            let events = provider.events(bufferingNewest: 100)
            try await Harness.submit(0..<20, to: provider)
            _ = await events.first { if case .transmitted = $0 { true } else { false } }
            try await group.shutdownGracefully()
            await harness.outcomes.count(reaches: 20)
            #expect(harness.outcomes.all.values.allSatisfy { $0 == [.uncertain(.shutDown)] })
            await #expect(throws: SubmitError.shutDown) { try await Harness.submit(0..<1, to: provider) }
            #expect(await provider.shutDown(within: .seconds(1)).outcomes.settled == 20)
            #expect(await provider.drain(within: .seconds(1)).unsettled == 0)
        }
    }

    @Test func `a provider on an event loop group that was shut down before takes nothing and blocks nobody`()
        async throws
    {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try await group.shutdownGracefully()
        var configuration = BinaryConfiguration(host: "127.0.0.1", port: 1, outcomes: .stream)
        configuration.eventLoopGroup = group
        let provider = try TestedProvider(configuration)
        await #expect(throws: SubmitError.shutDown) { try await Harness.submit(0..<3, to: provider) }
        let notification = try PushNotification(json: "{}".utf8)
        await #expect(throws: SubmitError.shutDown) {
            _ = try await provider.send(notification, to: Harness.device(1))
        }
        #expect(await provider.drain(within: .seconds(3600)).unsettled == 0)
        #expect(await provider.shutDown(within: .seconds(3600)).outcomes.settled == 0)
        #expect(await provider.events(bufferingNewest: 1).first { _ in true } == nil)
        for await _ in provider.outcomes { Issue.record("an outcome without a notification") }
    }

    @Test func `a group that is shut down while a provider is idle, or has no connection yet, blocks nobody`()
        async throws
    {
        var script = GatewayScript()
        script.handshake = .silent
        try await Harness.run(script) { harness in
            for count in [0, 20] {
                let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
                var configuration = harness.configuration
                configuration.eventLoopGroup = group
                let provider = try TestedProvider(configuration)
                try await Harness.submit(0..<count, to: provider)
                // The answer of the name look-up also needs the loop.
                while count > 0, harness.gateway.counts.connections == 0 { await Task.yield() }
                async let report = provider.drain(within: .seconds(3600))
                try await group.shutdownGracefully()
                #expect(await report.unsettled == 0)
                #expect(await provider.shutDown(within: .seconds(3600)).outcomes.undelivered == count)
                await #expect(throws: SubmitError.shutDown) { try await Harness.submit(0..<1, to: provider) }
            }
            #expect(harness.outcomes.numbers { $0 == .undelivered(.shutDown) } == Set(0..<20))
        }
    }
}
