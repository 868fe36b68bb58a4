internal import Ferry
internal import FerryForwarding
internal import FerryTerminal
internal import FerryTesting
internal import Logging

/// The migration part of the demo: devices move from the binary protocol to HTTP/2 share by share, and back, while
/// notifications go out. Then the HTTP/2 server is stopped, and the binary protocol takes over.
struct MigrationDemo {
    static let shares: [Double] = [0, 10, 50, 100, 0]
    /// The number of notifications at each share, and the number of devices that get them in turn.
    static let count = 2000
    static let devices = 500
    /// The number of notifications after the kill.
    static let afterKill = 1000

    /// The numbers of the devices whose tokens both servers reject.
    static let bad = [17, 333]

    let narrator: DemoNarrator
    private let sink = DemoSink()
    private let gatewayRecorder = GatewayMemoryRecorder()
    private let apnsRecorder = APNsMemoryRecorder()

    func run() async throws -> DemoReport {
        let credentials = try TestCredentials()
        var gateway = SimulatedGateway.Configuration(credentials: credentials)
        gateway.recorder = self.gatewayRecorder
        gateway.script.rules = [.reject(try DemoBatch.devices(Self.bad))]
        var apns = SimulatedAPNs.Configuration(credentials: credentials)
        apns.recorder = self.apnsRecorder
        apns.script.rules = [.reject(try DemoBatch.devices(Self.bad))]
        return try await SimulatedGateway.start(gateway).serving { gateway in
            try await SimulatedAPNs.start(apns).serving { try await self.run(gateway, $0, credentials) }
        }
    }

    private func run(
        _ gateway: SimulatedGateway,
        _ apns: SimulatedAPNs,
        _ credentials: TestCredentials
    ) async throws -> DemoReport {
        let provider = try MigratingProvider(try self.configuration(gateway, apns, credentials))
        let telling = Task { [narrator = self.narrator, events = provider.events(bufferingNewest: 65_536)] in
            for await case .migration(let event) in events { narrator.say("migration: \(event)") }
        }
        var sent = 0
        for share in Self.shares {
            self.narrator.say("migration: \(share) % of the devices over HTTP/2 from now on")
            provider.rule = MigrationRule(share: share)
            try await self.submit(sent..<sent + Self.count, to: provider)
            sent += Self.count
            // The last 200 notifications may have no outcome yet when the share changes.
            await self.settled(by: provider, reaches: sent - 200)
        }
        _ = await provider.drain(within: DemoBatch.limit)
        let moved = provider.report.life
        self.narrator.say("migration: all devices over HTTP/2, whose server is killed")
        provider.rule = MigrationRule(share: 100)
        let events = provider.events(of: .http2, bufferingNewest: 1000)
        await apns.stop(within: .zero)
        // A notification that is written before the provider notices the end may have arrived. It would not go over to
        // the binary protocol.
        await self.waitForEnd(of: events)
        try await self.submit(sent..<sent + Self.afterKill, to: provider)
        sent += Self.afterKill
        let report = await provider.shutDown(within: DemoBatch.limit, proof: .automatic)
        await telling.value
        return try self.compare(report, provider.report, moved, sent: sent)
    }

    /// Waits until a connection has ended, for at most ``DemoBatch/limit``.
    private func waitForEnd(of events: ProviderEvents) async {
        let waiting = Task { for await case .disconnected in events { return } }
        let limit = Task {
            try? await Task.sleep(for: DemoBatch.limit)
            waiting.cancel()
        }
        await waiting.value
        limit.cancel()
    }

    /// Waits until `count` notifications have their outcome, for at most ``DemoBatch/limit``.
    private func settled(by provider: MigratingProvider, reaches count: Int) async {
        let end = ContinuousClock.now + DemoBatch.limit
        while provider.counts.settled < count, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    private func configuration(
        _ gateway: SimulatedGateway,
        _ apns: SimulatedAPNs,
        _ credentials: TestCredentials
    ) throws -> MigratingConfiguration {
        var binary = credentials.binary(host: gateway.host, port: gateway.port, outcomes: .discard)
        binary.options.settleTime = .milliseconds(300)
        let tokens = try credentials.tokenSource()
        let http2 = credentials.http2(to: apns, tokens, topic: LocalGateway.topic, outcomes: .discard)
        var configuration = MigratingConfiguration(binary: binary, http2: http2, outcomes: .sink(self.sink))
        configuration.logger = .silent
        configuration.options.fallback = MigrationOptions.Fallback()
        configuration.options.fallback?.downAfter = .seconds(2)
        return configuration
    }

    private func submit(_ numbers: Range<Int>, to provider: MigratingProvider) async throws {
        let notification = try PushNotification(Payload(alert: "Hello", badge: 1))
        var batch = PushBatch(capacity: numbers.count)
        for number in numbers {
            let device = try DemoBatch.device(number % Self.devices)
            try batch.append(notification, to: device, tag: PushTag(UInt64(number)))
        }
        try await provider.submit(&batch)
    }

    /// Compares what both servers recorded with what the provider reported.
    private func compare(
        _ report: DrainReport,
        _ migration: MigrationReport,
        _ moved: MigrationReport.Period,
        sent: Int
    ) throws -> DemoReport {
        let perDevice = sent / Self.devices
        let arrived = self.gatewayRecorder.counts.merging(self.apnsRecorder.counts, uniquingKeysWith: +)
        let refused = try DemoBatch.devices(Self.bad)
        let good = Self.devices - refused.count
        return DemoReport(rows: [
            .init(what: "migration: outcomes", expected: sent, actual: report.outcomes.settled),
            .init(what: "migration: notifications that have an outcome", expected: sent, actual: self.sink.all.count),
            .init(
                what: "migration: good devices, and those that got all of theirs, each once",
                expected: good,
                actual: arrived.count { $0.value == perDevice }
            ),
            .init(
                what: "migration: accepted by both servers, and reported so",
                expected: arrived.values.reduce(0, +),
                actual: report.outcomes.accepted
            ),
            .init(
                what: "migration: protocols, and those whose server recorded what the report says",
                expected: 2,
                actual: [
                    (self.gatewayRecorder.counts, migration.life.binary),
                    (self.apnsRecorder.counts, migration.life.http2),
                ].count { $0.values.reduce(0, +) == $1.outcomes.accepted }
            ),
            .init(
                what: "migration: both protocols had a part before the kill",
                expected: 2,
                actual: ProviderSide.allCases.count { moved[$0].outcomes.accepted > 0 }
            ),
            .init(
                what: "migration: what HTTP/2 could not deliver, and went over",
                expected: Self.afterKill,
                actual: migration.life.http2.wentOver
            ),
            .init(
                what: "migration: undelivered, expired or uncertain",
                expected: 0,
                actual: report.outcomes.undelivered + report.outcomes.expired + report.outcomes.uncertain
            ),
        ])
    }
}
