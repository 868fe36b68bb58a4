import Ferry
import FerryBinary
import FerryTesting
import Testing

/// Tests with a gateway that causes trouble, over real sockets.
@Suite(.timeLimit(.minutes(10)), .inEveryArrangement, .namingTheArrangement)
struct TroubleTests {
    /// The delay of an error response that names no notification.
    private static let errorDelay: Duration = .milliseconds(60)

    /// Sends `count` notifications, proves their acceptance, and shuts down.
    private func push(
        _ count: Int,
        through script: GatewayScript,
        proof: Proof = .silence,
        _ configure: (inout BinaryOptions) -> Void = { _ in },
        check: (Harness, DrainReport) async throws -> Void
    ) async throws {
        try await Harness.run(script) { harness in
            var configuration = harness.proving
            configure(&configuration.options)
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<count, to: provider)
            let report = await provider.shutDown(within: Harness.forever, proof: proof)
            #expect(report.unsettled == 0)
            #expect(report.outcomes.settled == count)
            #expect(harness.outcomes.all.count == count)
            #expect(harness.outcomes.all.values.allSatisfy { $0.count == 1 })
            try await check(harness, report)
        }
    }

    /// Expects that every notification but `bad` arrived once and was accepted.
    private func expectComplete(_ count: Int, bad: Set<Int> = [], _ harness: Harness) throws {
        let arrived = try harness.arrived
        #expect(Set(arrived.keys) == Set(0..<count).subtracting(bad))
        #expect(arrived.values.allSatisfy { $0 == 1 })
        #expect(harness.outcomes.numbers(where: \.isAccepted) == Set(0..<count).subtracting(bad))
        #expect(harness.outcomes.numbers(where: \.isRejected) == bad)
    }

    @Test func `a cache of 10 loses and doubles nothing`() async throws {
        let bad: Set = [0, 7, 8, 55, 99]
        try await self.push(100, through: GatewayScript(rules: [.reject(Harness.devices(bad))])) {
            $0.cacheLength = 10
            $0.autoAdjustCache = false
        } check: { harness, report in
            try self.expectComplete(100, bad: bad, harness)
            #expect(report.contradicted == 0)
        }
    }

    @Test func `a cache of 10 is emptied by probes when it is held`() async throws {
        // Each probe costs a connection, and the client makes at most ten connections a second.
        try await self.push(100, through: GatewayScript(), proof: .probe) {
            $0.finality = .silence
            $0.cacheLength = 10
            $0.autoAdjustCache = false
            $0.probeWhenHeld = true
            $0.settleTime = .seconds(5)
        } check: { harness, report in
            try self.expectComplete(100, harness)
            #expect(report.outcomes.confirmed == 100)
            #expect(report.resent == 0)
            if Arrangement.current.loops == 1 { #expect(harness.gateway.counts.refused == 10) }
        }
    }

    @Test func `finality by proof confirms everything`() async throws {
        try await self.push(2000, through: GatewayScript(rules: [.reject(Harness.devices([100]))])) { _ in
        } check: { harness, report in
            try self.expectComplete(2000, bad: [100], harness)
            #expect(report.outcomes.confirmed == 1999)
        }
    }

    @Test func `evicting with a cache of 10 names every loss`() async throws {
        let bad: Set = [50, 1500]
        try await self.push(3000, through: GatewayScript(rules: [.reject(Harness.devices(bad))])) {
            $0.cachePolicy = .evict
            $0.cacheLength = 10
        } check: { harness, report in
            let arrived = try harness.arrived
            #expect(arrived.values.allSatisfy { $0 == 1 })
            #expect(harness.outcomes.numbers(where: \.isAccepted) == Set(arrived.keys))
            let lost = harness.outcomes.numbers { $0 == .undelivered(.evicted) }
            #expect(!lost.isEmpty)
            let rejected = harness.outcomes.numbers(where: \.isRejected)
            #expect(rejected.isSubset(of: bad))
            #expect(lost == Set(0..<3000).subtracting(rejected).subtracting(arrived.keys))
            #expect(report.contradicted == 0)
        }
    }

    @Test(arguments: [GatewayRule.Action.reset, .close], [BinaryOptions.UnknownPolicy.resend, .report])
    func `connections that end without a word cost copies or certainty, by option`(
        action: GatewayRule.Action,
        policy: BinaryOptions.UnknownPolicy
    ) async throws {
        try await self.push(2000, through: GatewayScript(rules: [.end(by: action, after: 300, times: 3)])) {
            $0.onUnknown = policy
            $0.backOff = .milliseconds(20) ... .seconds(1)
        } check: { harness, report in
            let accepted = harness.outcomes.numbers(where: \.isAccepted)
            // At the end of a search silence settles, also for one who wants proof.
            try await harness.arrived(reaches: accepted.count)
            let arrived = try harness.arrived
            #expect(accepted.isSubset(of: arrived.keys))
            #expect(harness.outcomes.numbers(where: \.isUncertain).union(accepted) == Set(0..<2000))
            switch policy {
            case .report: #expect(arrived.values.allSatisfy { $0 == 1 })
            default: #expect(accepted.count == 2000)
            }
            #expect(report.contradicted == 0)
        }
    }

    @Test func `a gateway that always says identifier 0 gets its culprit found`() async throws {
        let rule = GatewayRule(tokens: try Harness.devices([11]), status: 8, identifier: 0, delay: Self.errorDelay)
        try await self.push(40, through: GatewayScript(rules: [rule])) {
            $0.backOff = .milliseconds(20) ... .seconds(1)
        } check: { harness, _ in
            let inferred = Rejection(reason: .badDeviceToken, origin: .inferred, status: 8)
            #expect(harness.outcomes.all[11] == [.rejected(inferred)])
            let arrived = try harness.arrived
            #expect(arrived.count == 39)
            #expect(harness.outcomes.numbers(where: \.isAccepted).count == 39)
        }
    }

    @Test func `a token on which the gateway closes without a word is found`() async throws {
        let rule = GatewayRule(tokens: try Harness.devices([2]), action: .close, delay: Self.errorDelay)
        try await self.push(4, through: GatewayScript(rules: [rule])) {
            // A close after a probe proves nothing, so silence must find this token.
            $0.finality = .silence
            $0.settleTime = .seconds(5)
            $0.backOff = .milliseconds(20) ... .milliseconds(100)
        } check: { harness, _ in
            #expect(harness.outcomes.all[2] == [.uncertain(.peerCloses)])
            let arrived = try harness.arrived
            #expect(Set(arrived.keys) == [0, 1, 3])
            #expect(harness.outcomes.numbers(where: \.isAccepted) == [0, 1, 3])
        }
    }

    @Test func `late error responses are repaired and counted exactly`() async throws {
        var script = GatewayScript(rules: [.reject(try Harness.devices([50, 120]))])
        script.errorDelay = .seconds(1)
        try await Harness.run(script) { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = .milliseconds(60)
            let provider = try TestedProvider(configuration)
            let events = provider.events(bufferingNewest: 1000)
            try await Harness.submit(0..<200, to: provider)
            var named: Set<PushTag> = []
            for await event in events {
                if case .transmissionError(_, let tag?, _, _) = event { named.insert(tag) }
                if case .contradicted(let contradiction) = event { named.formUnion(contradiction.tags) }
                if named.count == 2 { break }
            }
            #expect(named == [50, 120])
            // An error response counts as late only if silence had settled the notification before it.
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.contradicted + report.outcomes.rejected == 2)
            #expect(report.outcomes.presumed == 200 - report.outcomes.rejected)
            #expect(harness.outcomes.numbers(where: \.isRejected).isSubset(of: [50, 120]))
            let arrived = try harness.arrived
            #expect(Set(arrived.keys) == Set(0..<200).subtracting([50, 120]))
            #expect(arrived.values.allSatisfy { $0 == 1 })
        }
    }

    @Test func `one bad token in a hundred costs less than five copies for each notification`() async throws {
        let bad = Set((0..<5000).filter { $0 % 100 == 37 })
        var script = GatewayScript(rules: [.reject(try Harness.devices(bad))])
        script.errorDelay = .milliseconds(20)
        try await self.push(5000, through: script) { _ in
        } check: { harness, report in
            try self.expectComplete(5000, bad: bad, harness)
            #expect(Double(report.resent) / Double(report.outcomes.accepted) < 5)
        }
    }

    @Test func `identifiers wrap on the wire without a mistake`() async throws {
        try await self.push(100, through: GatewayScript(rules: [.reject(Harness.devices([5, 12]))])) {
            $0.firstSequence = UInt64(UInt32.max) - 9
        } check: { harness, _ in
            try self.expectComplete(100, bad: [5, 12], harness)
            let identifiers = harness.recorder.notifications.compactMap(\.accepted.identifier)
            #expect(!identifiers.contains(0))
            #expect(identifiers.contains(.max) && identifiers.contains(1))
        }
    }

    @Test func `a peer that stops reading is not taken for silent`() async throws {
        try await Harness.run(GatewayScript(rules: [.end(by: .stopReading, after: 1000)])) { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = .milliseconds(300)
            let provider = try TestedProvider(configuration)
            let padding = String(repeating: "x", count: 1500)
            let notification = try PushNotification(json: #"{"aps":{"alert":"\#(padding)"}}"#.utf8)
            var batch = PushBatch()
            for number in 0..<20_000 {
                try batch.append(notification, to: Harness.device(number), tag: PushTag(UInt64(number)))
            }
            provider.trySubmit(&batch)
            let left = batch.count
            #expect(left == 0)
            await harness.accepted(reaches: 1000)
            let report = await provider.shutDown(within: .milliseconds(1500))
            #expect(report.outcomes.settled == 20_000)
            let presumed = harness.outcomes.numbers(where: \.isPresumed)
            let arrived = try harness.arrived
            #expect(presumed.isSubset(of: arrived.keys))
            #expect(report.outcomes.uncertain > 0)
        }
    }

    @Test func `a gateway that never closes after an error is left at once`() async throws {
        var script = GatewayScript(rules: [.reject(try Harness.devices([3, 30]))])
        script.keepsOpen = true
        try await self.push(100, through: script) { _ in
        } check: { harness, _ in
            try self.expectComplete(100, bad: [3, 30], harness)
            #expect(harness.gateway.counts.connections >= 3)
        }
    }

    @Test func `status 0 confirms and the connection goes on`() async throws {
        let rule = GatewayRule(after: 50, status: 0)
        try await Harness.run(GatewayScript(rules: [rule])) { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = .seconds(5)
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<100, to: provider)
            await harness.outcomes.count(reaches: 50)
            let confirmed = harness.outcomes.numbers { $0 == .accepted(.confirmed) }
            #expect(confirmed.count == 50)
            if Arrangement.current.loops == 1 { #expect(confirmed == Set(0..<50)) }
            _ = await provider.shutDown(within: Harness.forever, proof: .probe)
            try self.expectComplete(100, harness)
            #expect(harness.gateway.counts.connections == Arrangement.current.loops)
        }
    }

    @Test func `a shutdown of the gateway is no failure`() async throws {
        try await self.push(1000, through: GatewayScript(rules: [.shutDown(after: 300)])) { _ in
        } check: { harness, report in
            try self.expectComplete(1000, harness)
            #expect(report.outcomes.confirmed >= 900)
        }
    }

    @Test func `three connections share the work and keep each device's order`() async throws {
        try await Harness.run(GatewayScript(rules: [.reject(try Harness.devices([17]))])) { harness in
            var configuration = harness.proving
            configuration.options.maxConnections = 3
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<1000, to: provider)
            try await Harness.submit(1000..<2000, to: provider)
            let report = await provider.shutDown(within: Harness.forever)
            try self.expectComplete(2000, bad: [17], harness)
            #expect(report.outcomes.settled == 2000)
            #expect(Set(harness.recorder.notifications.map(\.accepted.connection)).count >= 3)
        }
    }

    @Test func `a peer that stops reading after a few notifications has accepted none that it did not read`()
        async throws
    {
        try await Harness.run(GatewayScript(rules: [.end(by: .stopReading, after: 100)])) { harness in
            var configuration = harness.configuration
            configuration.options.settleTime = .milliseconds(100)
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<2000, to: provider)
            await harness.accepted(reaches: 100)
            let report = await provider.shutDown(within: .milliseconds(1500))
            #expect(report.outcomes.settled == 2000)
            let accepted = harness.outcomes.numbers(where: \.isAccepted)
            let arrived = try harness.arrived
            #expect(accepted.isSubset(of: arrived.keys))
            #expect(report.outcomes.uncertain >= 1900)
        }
    }
}
