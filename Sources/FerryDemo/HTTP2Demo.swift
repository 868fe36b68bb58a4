internal import Ferry
internal import FerryForwarding
internal import FerryPlatform
internal import FerryTesting

/// The HTTP/2 part of the demo: one batch with a provider token. APNs rejects some notifications, and sends GOAWAY in
/// the middle.
struct HTTP2Demo {
    static let count = 20_000
    /// The number of notifications after which APNs sends GOAWAY, once.
    static let goAwayAfter = 6000
    /// The time at which APNs learned that a device lost the app.
    static let lostAt = Date(timeIntervalSince1970: 1_700_000_000)

    /// The numbers of notifications with bad device tokens, and of those whose devices lost the app.
    static let bad = [999, 5000, 5001, 12_345, 19_999]
    static let gone = [7, 4321, 11_111]
    /// The number of the notification that APNs refuses once with `tooManyRequests`, so that the provider sends it
    /// again.
    static let hasty = 15_000

    let narrator: DemoNarrator
    private let sink = DemoSink()
    private let recorder = APNsMemoryRecorder()

    func run() async throws -> DemoReport {
        let credentials = try TestCredentials()
        var configuration = SimulatedAPNs.Configuration(credentials: credentials)
        configuration.recorder = self.recorder
        configuration.script.rules = [
            .reject(try DemoBatch.devices(Self.bad)),
            HTTP2Rule(tokens: try DemoBatch.devices(Self.gone), status: 410, timestamp: Self.lostAt),
            HTTP2Rule(tokens: [try DemoBatch.device(Self.hasty)], times: 1, reason: .tooManyRequests),
            HTTP2Rule(
                after: Self.goAwayAfter,
                times: 1,
                action: .goAway,
                reason: .shutdown,
                lastStream: .current
            ),
        ]
        return try await SimulatedAPNs.start(configuration).serving { apns in
            self.narrator.say("a simulated APNs for HTTP/2 listens on \(apns.host), port \(apns.port)")
            return try await self.run(apns, credentials)
        }
    }

    private func run(_ apns: SimulatedAPNs, _ credentials: TestCredentials) async throws -> DemoReport {
        let tokens = try credentials.tokenSource()
        let provider = try HTTP2Provider(
            credentials.http2(to: apns, tokens, topic: LocalGateway.topic, outcomes: .sink(self.sink))
        )
        let telling = Task { [narrator = self.narrator, events = provider.events(bufferingNewest: 65_536)] in
            var narrator = HTTP2Narrator(narrator: narrator)
            for await event in events { narrator.tell(event) }
        }
        self.narrator.say(
            "\(Self.count) notifications with a provider token, \(Self.bad.count) to bad device tokens, "
                + "\(Self.gone.count) to devices that lost the app; APNs leaves in the middle"
        )
        try await DemoBatch.submit(0..<Self.count, to: provider)
        let report = await provider.shutDown(within: DemoBatch.limit)
        await telling.value
        return try self.compare(report, apns.counts, tokensMade: Int(tokens.mintCount))
    }

    /// Compares what APNs recorded with what the provider reported.
    private func compare(_ report: DrainReport, _ apns: APNsCounts, tokensMade: Int) throws -> DemoReport {
        let outcomes = self.sink.all
        let arrived = self.recorder.counts
        let refused = try DemoBatch.devices(Self.bad + Self.gone)
        let toldGone = Self.gone.filter { number in
            guard case .rejected(let rejection) = outcomes[UInt64(number)]?.first else { return false }
            return rejection.status == 410 && rejection.timestamp == Self.lostAt
        }
        let toldBad = Self.bad.filter { number in
            guard case .rejected(let rejection) = outcomes[UInt64(number)]?.first else { return false }
            return rejection.reason == .badDeviceToken
        }
        let good = Self.count - refused.count
        return DemoReport(rows: [
            .init(what: "HTTP/2: notifications that have an outcome", expected: Self.count, actual: outcomes.count),
            .init(what: "HTTP/2: outcomes", expected: Self.count, actual: report.outcomes.settled),
            .init(
                what: "HTTP/2: accepted by APNs, and reported so",
                expected: arrived.count,
                actual: report.outcomes.confirmed
            ),
            .init(what: "HTTP/2: good tokens, and those that got theirs", expected: good, actual: arrived.count),
            .init(
                what: "HTTP/2: tokens that got it twice",
                expected: 0,
                actual: arrived.values.count { $0 > 1 } + self.recorder.duplicates.count
            ),
            .init(
                what: "HTTP/2: bad tokens that got something",
                expected: 0,
                actual: refused.count { arrived[$0] != nil }
            ),
            .init(what: "HTTP/2: bad tokens, and those reported so", expected: Self.bad.count, actual: toldBad.count),
            .init(
                what: "HTTP/2: devices that lost the app, and those reported with the time",
                expected: Self.gone.count,
                actual: toldGone.count
            ),
            .init(
                what: "HTTP/2: undelivered, expired or uncertain",
                expected: 0,
                actual: report.outcomes.undelivered + report.outcomes.expired + report.outcomes.uncertain
            ),
            .init(
                what: "HTTP/2: GOAWAYs, and connections beyond the first",
                expected: apns.goAways,
                actual: apns.connections - 1
            ),
            .init(what: "HTTP/2: provider tokens made for all connections", expected: 1, actual: tokensMade),
        ])
    }
}
