import Ferry
import FerryTesting
import Foundation
import NIOPosix
import Testing

/// A migration over real sockets.
@Suite(.timeLimit(.minutes(10)))
struct MigratingProviderTests {
    /// Two event loops, however many processors there are.
    private static let twoLoops = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    private static func expectOnceAndInOrder(_ count: Int, _ arrivals: [MigrationHarness.Record.Arrival]) {
        #expect(arrivals.count == count)
        #expect(Set(arrivals.map(\.number)).count == count)
        var last: [Int: Int] = [:]
        var disorders = 0
        for arrival in arrivals {
            if last[arrival.device, default: -1] > arrival.number { disorders += 1 }
            last[arrival.device] = arrival.number
        }
        #expect(disorders == 0)
    }

    @Test(arguments: [1, 2])
    func `a changing share loses nothing, doubles nothing and keeps the order of each device`(loops: Int) async throws {
        let (devices, step) = (500, 4000)
        let bad: Set<Int> = [7, 123, 300]
        var gateway = GatewayScript()
        gateway.rules = [.reject(try Harness.devices(bad))]
        gateway.errorDelay = .milliseconds(50)
        var apns = HTTP2Script()
        apns.rules = [.reject(try Harness.devices(bad))]
        try await MigrationHarness.run(gateway: gateway, apns: apns, share: 0) { harness in
            var configuration = harness.configuration
            configuration.binary.options.maxConnections = loops
            configuration.http2.options.maxConnections = loops
            configuration.eventLoopGroup = Self.twoLoops
            configuration.loopCount = loops
            let provider = try MigratingProvider(configuration)
            let shares: [Double] = [0, 1, 10, 50, 100, 0]
            for (index, share) in shares.enumerated() {
                provider.rule = MigrationRule(share: share)
                try await MigrationHarness.submit(index * step..<(index + 1) * step, devices: devices, to: provider)
                // The last 500 have no outcome when the share changes.
                await harness.outcomes.count(reaches: (index + 1) * step - 500)
            }
            let drained = await provider.drain(within: Harness.forever)
            #expect(drained.unsettled == 0)
            let report = await provider.shutDown(within: Harness.forever, proof: .probe)
            let total = shares.count * step
            let expected = total - bad.count * total / devices
            #expect(report.outcomes.accepted == expected)
            #expect(report.outcomes.rejected == total - expected)
            #expect(report.contradicted == 0)
            let arrivals = harness.record.arrivals
            Self.expectOnceAndInOrder(expected, arrivals)
            let life = provider.report.life
            for side in ProviderSide.allCases {
                #expect(life[side].outcomes.accepted == arrivals.count { $0.side == side })
            }
            #expect(arrivals.contains { $0.side == .http2 } && arrivals.contains { $0.side == .binary })
        }
    }

    @Test func `at a fixed share each device is on one side, the one that its position says`() async throws {
        try await MigrationHarness.run(share: 50) { harness in
            let provider = try MigratingProvider(harness.configuration)
            try await MigrationHarness.submit(0..<4000, devices: 400, to: provider)
            _ = await provider.shutDown(within: Harness.forever, proof: .probe)
            for arrival in harness.record.arrivals {
                let position = MigrationRule.position(of: try Harness.device(arrival.device))
                #expect(arrival.side == (position < 2048 ? .http2 : .binary))
            }
            #expect(harness.record.arrivals.count == 4000)
        }
    }

    @Test(arguments: ProviderSide.allCases)
    func `what a killed side has not sent goes over the other side`(killed: ProviderSide) async throws {
        try await MigrationHarness.run(share: killed == .binary ? 0 : 100) { harness in
            var configuration = harness.configuration
            configuration.options.fallback = MigrationOptions.Fallback()
            configuration.options.fallback?.downAfter = .seconds(2)
            let provider = try MigratingProvider(configuration)
            let events = provider.events(bufferingNewest: 100_000)
            switch killed {
            case .binary: await harness.gateway.stop(within: .zero)
            case .http2: await harness.apns.stop(within: .zero)
            }
            try await MigrationHarness.submit(0..<5000, devices: 500, to: provider)
            let report = await provider.shutDown(within: Harness.forever, proof: .probe)
            #expect(report.outcomes.accepted == 5000)
            #expect(harness.record.arrivals.count == 5000)
            #expect(harness.record.arrivals.allSatisfy { $0.side == killed.other })
            #expect(provider.report.life[killed].wentOver == 5000)
            let isTold = await events.first { event in
                if case .migration(.down(killed, _)) = event { true } else { false }
            }
            #expect(isTold != nil)
        }
    }

    @Test func `what APNs refuses for the credentials goes over the binary protocol`() async throws {
        var apns = HTTP2Script()
        apns.rules = [HTTP2Rule(prefix: [], action: .respond)]
        apns.rules[0].status = 403
        apns.rules[0].reason = .badCertificateEnvironment
        try await MigrationHarness.run(apns: apns, share: 100) { harness in
            var configuration = harness.configuration
            configuration.options.fallback = MigrationOptions.Fallback()
            let provider = try MigratingProvider(configuration)
            try await MigrationHarness.submit(0..<1000, devices: 100, to: provider)
            let report = await provider.shutDown(within: Harness.forever, proof: .probe)
            #expect(report.outcomes.accepted == 1000)
            #expect(harness.record.arrivals.count == 1000)
            #expect(harness.record.arrivals.allSatisfy { $0.side == .binary })
        }
    }

    @Test func `a side that is down says why`() async throws {
        var apns = HTTP2Script()
        apns.rules = [HTTP2Rule(prefix: [], status: 403, reason: .badCertificateEnvironment)]
        try await MigrationHarness.run(apns: apns, share: 100) { harness in
            var configuration = harness.configuration
            configuration.http2.options.circuitBreaker = HTTP2Options.CircuitBreaker()
            configuration.options.fallback = MigrationOptions.Fallback()
            let provider = try MigratingProvider(configuration)
            let events = provider.events(bufferingNewest: 100_000)
            try await MigrationHarness.submit(0..<1000, devices: 100, to: provider)
            let report = await provider.shutDown(within: Harness.forever, proof: .probe)
            #expect(report.outcomes.accepted == 1000)
            var error: ProviderError?
            for event in await events.all() {
                if case .migration(.down(.http2, let cause)) = event { error = cause }
            }
            #expect(error?.code == .credentialsRejected)
        }
    }

    @Test func `when both sides are killed everything ends at the deadline`() async throws {
        try await MigrationHarness.run(share: 50) { harness in
            var configuration = harness.configuration
            configuration.options.fallback = MigrationOptions.Fallback()
            configuration.options.fallback?.downAfter = .milliseconds(200)
            configuration.options.deadline = .seconds(2)
            await harness.gateway.stop(within: .zero)
            await harness.apns.stop(within: .zero)
            let provider = try MigratingProvider(configuration)
            try await MigrationHarness.submit(0..<1000, devices: 100, to: provider)
            let report = await provider.drain(within: Harness.forever)
            #expect(report.unsettled == 0)
            #expect(report.outcomes.undelivered == 1000)
            _ = await provider.shutDown(within: .seconds(1), proof: .silence)
        }
    }

    @Test func `a payload that is too long for the binary protocol goes over HTTP/2, unless that is off`() async throws
    {
        let long = try PushNotification(json: Array(#"{"n":1,"x":"\#(String(repeating: "a", count: 3000))"}"#.utf8))
        for sendsElsewhere in [true, false] {
            try await MigrationHarness.run(share: 0) { harness in
                var configuration = harness.configuration
                configuration.options.sendsElsewhere = sendsElsewhere
                let provider = try MigratingProvider(configuration)
                let outcome = try await provider.send(long, to: Harness.device(1))
                if sendsElsewhere {
                    #expect(outcome == .accepted(.confirmed))
                } else {
                    #expect(outcome.isRejected)
                }
                _ = await provider.shutDown(within: Harness.forever, proof: .silence)
                #expect(provider.report.life.http2.forced == (sendsElsewhere ? 1 : 0))
            }
        }
    }

    @Test func `what the binary protocol has no field for is rejected if it may not go over HTTP/2`() async throws {
        let activity = try PushNotification(json: Array(#"{"n":1}"#.utf8), pushType: .liveactivity)
        let elsewhere = try PushNotification(json: Array(#"{"n":2}"#.utf8), topic: "com.example.other")
        try await MigrationHarness.run(share: 0) { harness in
            var configuration = harness.configuration
            configuration.options.sendsElsewhere = false
            let provider = try MigratingProvider(configuration)
            for notification in [activity, elsewhere] {
                let outcome = try await provider.send(notification, to: Harness.device(1))
                guard case .rejected(let rejection) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
                #expect(rejection.origin == .ferry)
            }
            _ = await provider.shutDown(within: Harness.forever, proof: .silence)
            #expect(harness.record.arrivals.isEmpty)
            #expect(provider.report.life.binary.outcomes.rejected == 2)
        }
    }

    @Test func `the events of a side are its own, and the numbers of connections tell the side`() async throws {
        try await MigrationHarness.run(share: 50) { harness in
            let provider = try MigratingProvider(harness.configuration)
            let all = provider.events(bufferingNewest: 10_000)
            let sides = ProviderSide.allCases.map { ($0, provider.events(of: $0, bufferingNewest: 10_000)) }
            try await MigrationHarness.submit(0..<200, devices: 100, to: provider)
            _ = await provider.shutDown(within: Harness.forever, proof: .silence)
            for (side, events) in sides {
                for event in await events.all() {
                    guard case .connected(let id, _) = event else { continue }
                    #expect(MigratingProvider.side(of: id) == side)
                }
            }
            var connections: Set<ConnectionID> = []
            var completed = 0
            for event in await all.all() {
                switch event {
                case .connected(let id, let open):
                    connections.insert(id)
                    #expect(open == connections.count)
                case .disconnected(let id, let open):
                    connections.remove(id)
                    #expect(open == connections.count)
                case .completed: completed += 1
                default: break
                }
            }
            #expect(completed >= 1)
        }
    }

    @Test func `one stream tells of devices that are gone over both protocols, and says how many were lost`()
        async throws
    {
        let gone = try Harness.device(1)
        let when = Date(timeIntervalSince1970: 1_700_000_000)
        var rule = HTTP2Rule(tokens: [gone], action: .respond)
        rule.status = 410
        rule.timestamp = when
        var script = HTTP2Script()
        script.rules = [rule]
        try await MigrationHarness.run(apns: script, share: 100) { harness in
            let provider = try MigratingProvider(harness.configuration)
            let feedback = provider.feedback(bufferingNewest: 2)
            let all = provider.feedback(bufferingNewest: 100)
            try await MigrationHarness.submit(0..<20, devices: 10, to: provider)
            _ = await provider.drain(within: Harness.forever)
            let listed = try FeedbackTuple(time: when, token: Harness.device(77))
            for _ in 0..<3 { provider.take(listed) }
            #expect(provider.report.life.binary.deadDevices == 3)
            #expect(provider.report.life.http2.deadDevices == 2)
            provider.rule.share = 50
            #expect(provider.report.sinceChange.binary.feedback == 0)
            provider.take(listed, topic: "com.example.other")
            _ = await provider.shutDown(within: Harness.forever)

            var devices: [GoneDevice] = []
            for await case .gone(let device) in all { devices.append(device) }
            let topic = "com.example.ferry"
            let overHTTP2 = GoneDevice(token: gone, time: when, topic: topic, side: .http2)
            let overBinary = GoneDevice(token: listed.token, time: when, topic: topic, side: .binary)
            var other = overBinary
            other.topic = "com.example.other"
            #expect(devices == [overHTTP2, overHTTP2, overBinary, overBinary, overBinary, other])

            var news: [MigrationFeedback.Element] = []
            for await element in feedback { news.append(element) }
            #expect(news == [.dropped(4), .gone(overBinary), .gone(other)])
        }
    }

    @Test func `with two event loops it is one provider: one report, one move, and numbers that tell the side`()
        async throws
    {
        try await MigrationHarness.run(share: 0) { harness in
            var configuration = harness.configuration
            configuration.binary.options.maxConnections = 2
            configuration.http2.options.maxConnections = 2
            configuration.eventLoopGroup = Self.twoLoops
            configuration.loopCount = 2
            let provider = try MigratingProvider(configuration)
            let events = provider.events(bufferingNewest: 100_000)
            try await MigrationHarness.submit(0..<4000, devices: 400, to: provider)
            provider.rule.share = 50
            try await MigrationHarness.submit(4000..<8000, devices: 400, to: provider)
            _ = await provider.drain(within: Harness.forever)
            provider.rule.share = 100
            try await MigrationHarness.submit(8000..<12_000, devices: 400, to: provider)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.accepted == 12_000)

            var moves = 0
            var connected: [ProviderSide: Set<ConnectionID>] = [:]
            for event in await events.all() {
                switch event {
                case .migration(.moved): moves += 1
                case .connected(let id, _): connected[MigratingProvider.side(of: id), default: []].insert(id)
                default: break
                }
            }
            #expect(moves == 2)
            #expect(connected[.binary]?.count ?? 0 >= 2)
            #expect(connected[.http2]?.count == 2)
            Self.expectOnceAndInOrder(12_000, harness.record.arrivals)
            let (binary, http2) = (provider.report.life.binary, provider.report.life.http2)
            #expect(binary.outcomes.accepted + http2.outcomes.accepted == 12_000)
            #expect(harness.record.arrivals.count { $0.side == .http2 } == http2.outcomes.accepted)
        }
    }

    @Test func `positions are those of the documented vectors`() throws {
        let vectors = [("00", 207), ("01", 276), (String(repeating: "ab", count: 32), 744)]
        for (hex, position) in vectors { #expect(MigrationRule.position(of: try DeviceToken(hex: hex)) == position) }
    }
}
