import Ferry
import FerryTesting
import NIOCore
import NIOPosix
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10)), .inEveryArrangement, .namingTheArrangement)
struct SubmissionTests {
    private static func notification() throws -> PushNotification {
        try PushNotification(json: #"{"aps":{"alert":"Hello"}}"#.utf8)
    }

    // MARK: send

    @Test func `send returns the outcome of its notification`() async throws {
        let bad = try Harness.device(2)
        try await Harness.run(GatewayScript(rules: [.reject([bad])])) { harness in
            let provider = try TestedProvider(harness.proving)
            #expect(try await provider.send(Self.notification(), to: Harness.device(1)) == .accepted(.confirmed))
            let rejected = try await provider.send(Self.notification(), to: bad)
            #expect(rejected == .rejected(Rejection(reason: .badDeviceToken, origin: .gateway, status: 8)))
            #expect(harness.outcomes.all.isEmpty)
            _ = await provider.shutDown(within: Harness.forever)
        }
    }

    @Test func `a thousand tasks get a thousand outcomes`() async throws {
        let bad = Set([3, 500, 501])
        try await Harness.run(GatewayScript(rules: [.reject(try Harness.devices(bad))])) { harness in
            let provider = try TestedProvider(harness.proving)
            let notification = try Self.notification()
            let rejected = try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
                for number in 0..<1000 {
                    let device = try Harness.device(number)
                    group.addTask { (number, try await provider.send(notification, to: device)) }
                }
                var rejected: Set<Int> = []
                for try await (number, outcome) in group where !outcome.isAccepted { rejected.insert(number) }
                return rejected
            }
            #expect(rejected == bad)
            #expect(try harness.arrived.count == 997)
            _ = await provider.shutDown(within: Harness.forever)
        }
    }

    @Test func `a send that is cancelled before it was written is withdrawn`() async throws {
        var script = GatewayScript()
        script.handshake = .silent
        try await Harness.run(script) { harness in
            let provider = try TestedProvider(harness.configuration)
            let events = provider.events(bufferingNewest: 10)
            let device = try Harness.device(1)
            let notification = try Self.notification()
            let task = Task { try await provider.send(notification, to: device) }
            task.cancel()
            // The notification was either cancelled before it was taken, or withdrawn after.
            let early = await task.result
            switch early {
            case .success(let outcome): #expect(outcome == .undelivered(.cancelled))
            case .failure(let error): #expect(error as? SubmitError == .cancelled)
            }
            let late = Task { try await provider.send(notification, to: device) }
            // The handshake never completes, so nothing is written. This submission waits at least until the other
            // notification was taken.
            var filler = PushBatch()
            try filler.append(notification, to: device, tag: 7)
            try await provider.submit(&filler)
            late.cancel()
            switch await late.result {
            case .success(let outcome): #expect(outcome == .undelivered(.cancelled))
            case .failure(let error): #expect(error as? SubmitError == .cancelled)
            }
            let report = await provider.shutDown(within: .zero)
            #expect(report.unsettled == 0)
            #expect(harness.outcomes.all == [7: [.undelivered(.shutDown)]])
            _ = events
        }
    }

    @Test func `a send that is cancelled after it was written is not called back`() async throws {
        try await Harness.run { harness in
            let provider = try TestedProvider(harness.configuration)
            let events = provider.events(bufferingNewest: 100)
            let device = try Harness.device(1)
            let notification = try Self.notification()
            let task = Task { try await provider.send(notification, to: device) }
            _ = await events.first { if case .transmitted = $0 { true } else { false } }
            task.cancel()
            #expect(try await task.value == .accepted(.presumed))
            _ = await provider.shutDown(within: Harness.forever)
        }
    }

    // MARK: submit

    @Test func `a batch larger than the queue is taken as room appears`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.options.queueLimit = 64
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<5000, to: provider)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.accepted == 5000)
        }
    }

    @Test func `a queue limit of zero is one`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.options.queueLimit = 0
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<5, to: provider)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.accepted == 5)
        }
    }

    @Test func `many tasks that wait for room all get it, and those that are cancelled pass it on`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.options.queueLimit = 1
            let provider = try TestedProvider(configuration)
            let taken = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        do {
                            try await Harness.submit(number..<number + 1, to: provider)
                            return 1
                        } catch SubmitError.cancelled {
                            return 0
                        }
                    }
                    if number % 3 == 0 {
                        group.addTask {
                            let task = Task { try await Harness.submit(1000 + number..<1001 + number, to: provider) }
                            await Task.yield()
                            task.cancel()
                            return (try? await task.value) == nil ? 0 : 1
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(taken >= 60)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.accepted == taken)
        }
    }

    @Test func `nothing is taken after a shutdown`() async throws {
        try await Harness.run { harness in
            let provider = try TestedProvider(harness.configuration)
            _ = await provider.shutDown(within: .zero)
            await #expect(throws: SubmitError.shutDown) { try await Harness.submit(0..<3, to: provider) }
            await #expect(throws: SubmitError.shutDown) {
                _ = try await provider.send(Self.notification(), to: Harness.device(1))
            }
            var batch = PushBatch()
            try batch.append(Self.notification(), to: Harness.device(1), tag: 1)
            provider.trySubmit(&batch)
            let left = batch.count
            #expect(left == 1)
            #expect(await provider.shutDown(within: .zero).outcomes.settled == 0)
            #expect(await provider.drain(within: Harness.forever).unsettled == 0)
            #expect(await provider.events(bufferingNewest: 1).all().isEmpty)
        }
    }

    @Test func `a waiting submit is let go by a shutdown and keeps what was not taken`() async throws {
        var script = GatewayScript()
        script.handshake = .silent
        try await Harness.run(script) { harness in
            var configuration = harness.configuration
            configuration.options.queueLimit = 10
            let provider = try TestedProvider(configuration)
            let events = provider.events(bufferingNewest: 10)
            let task = Task {
                var batch = PushBatch()
                for number in 0..<25 {
                    try batch.append(Self.notification(), to: Harness.device(number), tag: PushTag(UInt64(number)))
                }
                await #expect(throws: SubmitError.shutDown) { try await provider.submit(&batch) }
                return batch.count
            }
            await Self.poll { await provider.drain(within: .zero).unsettled == 10 }
            let report = await provider.shutDown(within: .zero)
            #expect(try await task.value == 15)
            #expect(report.outcomes.undelivered == 10)
            _ = events
        }
    }

    /// Polls until the condition holds.
    private static func poll(_ condition: () async -> Bool) async {
        let deadline = ContinuousClock.now + Harness.forever
        while ContinuousClock.now < deadline {
            if await condition() { return }
            await Task.yield()
        }
        Issue.record("what was waited for did not come")
    }

    // MARK: Sinks and streams

    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)
        var value: Int { self.count.load(ordering: .relaxed) }
        func increment() { self.count.add(1, ordering: .relaxed) }
    }

    /// A sink that submits one more notification for each outcome, until there were `limit`.
    private final class Chain: OutcomeSink {
        let provider = Mutex<TestedProvider?>(nil)
        let seen = Mutex<[UInt64]>([])
        let limit: UInt64
        let done: @Sendable () -> Void

        init(limit: UInt64, done: @escaping @Sendable () -> Void) {
            self.limit = limit
            self.done = done
        }

        func settled(_ outcomes: Span<OutcomeRecord>) {
            for index in outcomes.indices {
                let tag = outcomes[index].tag.rawValue
                self.seen.withLock { $0.append(tag) }
                guard tag < self.limit else { return self.done() }
                guard let provider = self.provider.withLock({ $0 }) else { return }
                do {
                    var batch = PushBatch(capacity: 1)
                    try batch.append(
                        SubmissionTests.notification(),
                        to: Harness.device(Int(tag)),
                        tag: PushTag(tag + 1)
                    )
                    provider.trySubmit(&batch)
                    if !batch.isEmpty { Issue.record("not taken") }
                } catch {
                    Issue.record(error)
                }
            }
        }
    }

    @Test func `a sink may submit`() async throws {
        try await Harness.run { harness in
            let done = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)
            let chain = Chain(limit: 10) { done.succeed() }
            var configuration = harness.configuration
            configuration.options.settleTime = .milliseconds(10)
            configuration.outcomes = .sink(chain)
            let provider = try TestedProvider(configuration)
            chain.provider.withLock { $0 = provider }
            try await Harness.submit(1..<2, to: provider)
            try await done.futureResult.get()
            chain.provider.withLock { $0 = nil }
            #expect(chain.seen.withLock { $0 } == Array(1...10))
            _ = await provider.shutDown(within: Harness.forever)
        }
    }

    @Test func `a slow reader of the stream slows submit and loses nothing`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.outcomes = .stream
            configuration.options.queueLimit = 50
            configuration.options.cacheLength = 50
            configuration.options.autoAdjustCache = false
            configuration.options.settleTime = .milliseconds(10)
            let provider = try TestedProvider(configuration)
            let submitted = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for number in 0..<1000 {
                        try await Harness.submit(number..<number + 1, to: provider)
                        submitted.increment()
                    }
                    _ = await provider.shutDown(within: Harness.forever)
                }
                // The outcomes are not read. So the queue, the cache and the unread outcomes fill up, and then submit
                // waits.
                await Self.poll { await provider.drain(within: .milliseconds(50)).outcomes.settled >= 50 }
                let report = await provider.drain(within: .milliseconds(200))
                #expect(submitted.value <= 50 + 50 + 50 + 1)
                #expect(report.outcomes.settled <= 150)
                var tags: [UInt64] = []
                for await record in provider.outcomes { tags.append(record.tag.rawValue) }
                #expect(tags.sorted() == Array(0..<1000))
                try await group.waitForAll()
            }
        }
    }

    @Test func `whoever leaves the loop over the stream finds the rest`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.outcomes = .stream
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<1000, to: provider)
            _ = await provider.shutDown(within: Harness.forever)
            var tags: [UInt64] = []
            for await record in provider.outcomes {
                tags.append(record.tag.rawValue)
                if tags.count == 10 { break }
            }
            for await record in provider.outcomes { tags.append(record.tag.rawValue) }
            #expect(tags.sorted() == Array(0..<1000))
        }
    }

    @Test func `a cancelled reader of the stream loses nothing, and displaces nobody`() async throws {
        try await Harness.run { harness in
            var configuration = harness.configuration
            configuration.outcomes = .stream
            let provider = try TestedProvider(configuration)
            let stream = provider.outcomes
            let first = Task { () -> [UInt64] in
                var tags: [UInt64] = []
                for await record in stream { tags.append(record.tag.rawValue) }
                return tags
            }
            for _ in 0..<200 {
                let second = Task { () -> Int in
                    withUnsafeCurrentTask { $0?.cancel() }
                    var iterator = stream.makeAsyncIterator()
                    return await iterator.next() == nil ? 0 : 1
                }
                #expect(await second.value == 0)
            }
            try await Harness.submit(0..<20, to: provider)
            _ = await provider.shutDown(within: Harness.forever)
            #expect(await first.value.count == 20)
        }
    }

    // MARK: Events

    @Test func `every subscription gets all events or is told how many it lost`() async throws {
        try await Harness.run(GatewayScript(rules: [.reject(try Harness.devices(0..<10))])) { harness in
            let provider = try TestedProvider(harness.proving)
            let complete = provider.events(bufferingNewest: 10_000)
            let short = provider.events(bufferingNewest: 3)
            try await Harness.submit(0..<50, to: provider)
            _ = await provider.shutDown(within: Harness.forever)
            let all = await complete.all()
            let some = await short.all()
            let errors = all.count { if case .transmissionError = $0 { true } else { false } }
            #expect(errors == 10)
            #expect(some.count == 4)
            guard case .dropped(let count)? = some.first else {
                Issue.record("the loss was not told")
                return
            }
            #expect(count + 3 == all.count)
        }
    }
}
