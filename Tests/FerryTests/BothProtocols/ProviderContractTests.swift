import Ferry
import Synchronization
import Testing

/// Tests of the promises that every provider makes, with either protocol and with both.
@Suite(.timeLimit(.minutes(10)))
struct ProviderContractTests {
    private static func notification() throws -> PushNotification {
        try PushNotification(json: #"{"aps":{"alert":"Hello"}}"#.utf8)
    }

    @Test(arguments: TestedProtocol.allCases)
    func `what is bad is rejected, and everything else arrives once`(tested: TestedProtocol) async throws {
        let bad: Set<Int> = [3, 700, 701, 1999]
        try await tested.run(TestedProtocol.Trouble(bad: bad)) { run in
            try await Harness.submit(0..<2000, to: run.provider)
            let report = await run.provider.shutDown(within: Harness.forever, proof: .silence)
            #expect(report.unsettled == 0)
            #expect(report.outcomes.accepted == 1996)
            #expect(report.outcomes.rejected == 4)
            #expect(run.outcomes.numbers(where: \.isRejected) == bad)
            let arrived = try run.arrived()
            for number in 0..<2000 {
                #expect(arrived[number] == (bad.contains(number) ? nil : 1))
                #expect(run.outcomes.all[number]?.count == 1)
            }
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `a peer that ends its connections in an orderly way loses and doubles nothing`(tested: TestedProtocol)
        async throws
    {
        try await tested.run(TestedProtocol.Trouble(endsEvery: 300)) { run in
            try await Harness.submit(0..<2000, to: run.provider)
            let report = await run.provider.shutDown(within: Harness.forever, proof: .silence)
            #expect(report.outcomes.accepted == 2000)
            let arrived = try run.arrived()
            #expect((0..<2000).allSatisfy { arrived[$0] == 1 })
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `a thousand tasks that send get a thousand outcomes`(tested: TestedProtocol) async throws {
        let bad: Set<Int> = [3, 500, 501]
        try await tested.run(TestedProtocol.Trouble(bad: bad)) { run in
            let notification = try Self.notification()
            let provider = run.provider
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
            #expect(run.outcomes.all.isEmpty)
            _ = await run.provider.shutDown(within: Harness.forever, proof: .silence)
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `a small queue holds submit back and loses nothing`(tested: TestedProtocol) async throws {
        try await tested.run(queueLimit: 7) { run in
            try await Harness.submit(0..<500, to: run.provider)
            let report = await run.provider.shutDown(within: Harness.forever, proof: .silence)
            #expect(report.outcomes.accepted == 500)
            #expect(try run.arrived().count == 500)
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `a shutdown gives everything its outcome when the peer is silent`(tested: TestedProtocol) async throws {
        try await tested.run(TestedProtocol.Trouble(isSilent: true)) { run in
            try await Harness.submit(0..<100, to: run.provider)
            let report = await run.provider.shutDown(within: .milliseconds(300), proof: .silence)
            #expect(report.unsettled == 0)
            #expect(report.outcomes.settled == 100)
            #expect(report.outcomes.accepted == 0)
            #expect(run.outcomes.all.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `after a shutdown no notification is taken`(tested: TestedProtocol) async throws {
        try await tested.run { run in
            _ = await run.provider.shutDown(within: Harness.forever, proof: .silence)
            var batch = PushBatch()
            try batch.append(Self.notification(), to: Harness.device(1), tag: PushTag(1))
            run.provider.trySubmit(&batch)
            #expect(batch.count == 1)
            await #expect(throws: SubmitError.shutDown) {
                _ = try await run.provider.send(Self.notification(), to: Harness.device(1))
            }
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `events tell of the connection, of what was sent and of the end`(tested: TestedProtocol) async throws {
        try await tested.run { run in
            let events = run.provider.events(bufferingNewest: 1000)
            try await Harness.submit(0..<10, to: run.provider)
            _ = await run.provider.shutDown(within: Harness.forever, proof: .silence)
            var (connected, disconnected, completed) = (0, 0, 0)
            var transmitted: Set<UInt64> = []
            for event in await events.all() {
                switch event {
                case .connected: connected += 1
                case .disconnected: disconnected += 1
                case .completed: completed += 1
                case .transmitted(_, let tags): transmitted.formUnion(tags.map(\.rawValue))
                default: break
                }
            }
            #expect(connected == tested.connections)
            #expect(disconnected == tested.connections)
            #expect(completed >= 1)
            #expect(transmitted == Set(0..<10))
        }
    }

    @Test(arguments: TestedProtocol.allCases)
    func `a provider that is dropped gives everything its outcome`(tested: TestedProtocol) async throws {
        let released = Mutex<OutcomeCollector?>(nil)
        try await tested.run(TestedProtocol.Trouble(isSilent: true)) { run in
            try await Harness.submit(0..<50, to: run.provider)
            released.withLock { $0 = run.outcomes }
        }
        let outcomes = released.withLock { $0 }
        await outcomes?.count(reaches: 50)
        #expect(outcomes?.all.count == 50)
    }
}
