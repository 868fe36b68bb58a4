internal import Ferry
internal import FerryForwarding
internal import FerryTesting

/// The binary protocol's part of the demo: three acts with one provider, then the feedback list.
struct BinaryDemo {
    static let count = 20_000
    /// The number of notifications in each of the two acts about late errors.
    static let lateCount = 1000
    static let settleTime: Duration = .milliseconds(300)
    /// The delays of two error responses: one shorter than the settle time, and one longer.
    static let lateDelay: Duration = .milliseconds(150)
    static let tooLateDelay: Duration = .milliseconds(1200)
    /// The number of notifications after which the gateway announces its shutdown, once.
    static let shutdownAfter = 6000

    /// The numbers of the notifications whose device tokens the gateway rejects: at once, late, and too late.
    static let bad = [999, 5000, 5001, 12_345, 19_999]
    static let late = Self.count + 100
    static let tooLate = Self.count + Self.lateCount + 200
    /// The numbers of notifications with valid device tokens whose devices no longer have the app.
    static let gone = [7, 4321, 11_111]
    private static let total = Self.count + 2 * Self.lateCount

    let narrator: DemoNarrator
    private let sink = DemoSink()
    private let recorder = GatewayMemoryRecorder()

    func run() async throws -> DemoReport {
        let credentials = try TestCredentials()
        var configuration = SimulatedGateway.Configuration(credentials: credentials)
        configuration.recorder = self.recorder
        configuration.script.rules = [
            .reject(try DemoBatch.devices(Self.bad)),
            GatewayRule(tokens: [try DemoBatch.device(Self.late)], delay: Self.lateDelay),
            GatewayRule(tokens: [try DemoBatch.device(Self.tooLate)], delay: Self.tooLateDelay),
            .shutDown(after: Self.shutdownAfter, times: 1),
            .gone(try DemoBatch.devices(Self.gone)),
        ]
        let feedback = try await SimulatedFeedback.start(.init(credentials: credentials))
        configuration.feedback = feedback
        return try await feedback.serving { try await self.run(configuration, $0) }
    }

    private func run(
        _ configuration: SimulatedGateway.Configuration,
        _ feedback: SimulatedFeedback
    ) async throws -> DemoReport {
        let credentials = configuration.credentials
        return try await SimulatedGateway.start(configuration).serving { gateway in
            self.narrator.say("a simulated APNs listens on \(gateway.host), port \(gateway.port)")
            var report = try await self.run(gateway, credentials)
            let list = FeedbackDemo(gone: try DemoBatch.devices(Self.gone), narrator: self.narrator)
            self.narrator.say("a simulated feedback service listens on \(feedback.host), port \(feedback.port)")
            report.rows += try await list.run(host: feedback.host, port: feedback.port, credentials)
            return report
        }
    }

    private func run(_ gateway: SimulatedGateway, _ credentials: TestCredentials) async throws -> DemoReport {
        var configuration = credentials.binary(host: gateway.host, port: gateway.port, outcomes: .sink(self.sink))
        configuration.options.settleTime = Self.settleTime
        let provider = try BinaryProvider(configuration)
        let telling = Task { [narrator = self.narrator, events = provider.events(bufferingNewest: 65_536)] in
            var narrator = narrator
            for await event in events { narrator.tell(event) }
        }

        self.narrator.say(
            "\(Self.count) notifications, \(Self.bad.count) to bad device tokens; the gateway restarts, too"
        )
        try await DemoBatch.submit(0..<Self.count, to: provider)
        _ = await provider.drain(within: DemoBatch.limit)
        self.narrator.say("\(Self.lateCount) more; the error response takes its time: \(Self.lateDelay)")
        try await DemoBatch.submit(Self.count..<Self.count + Self.lateCount, to: provider)
        _ = await provider.drain(within: DemoBatch.limit)
        self.narrator.say(
            "\(Self.lateCount) more; the error response takes \(Self.tooLateDelay), and silence counts as acceptance after "
                + "\(Self.settleTime)"
        )
        try await DemoBatch.submit(Self.count + Self.lateCount..<Self.total, to: provider)
        _ = await provider.drain(within: DemoBatch.limit)
        // Everything has its outcome already. A probe would only add to the notifications that the gateway counts as
        // refused.
        let report = await provider.shutDown(within: DemoBatch.limit, proof: .silence)
        await telling.value
        return self.compare(report, gateway.counts)
    }

    /// Compares what the gateway recorded with what the provider reported.
    private func compare(_ report: DrainReport, _ gateway: GatewayCounts) -> DemoReport {
        let outcomes = self.sink.all
        let accepted = outcomes.values.filter { given in
            given.contains(.accepted(.confirmed)) || given.contains(.accepted(.presumed))
        }
        let arrived = self.recorder.counts
        let refused = Self.bad + [Self.late, Self.tooLate]
        let refusedOnes = refused.compactMap { try? DemoBatch.device($0) }
        return DemoReport(rows: [
            .init(what: "notifications that have an outcome", expected: Self.total, actual: outcomes.count),
            .init(what: "outcomes", expected: Self.total, actual: report.outcomes.settled),
            .init(
                what: "accepted by the gateway, and reported so",
                expected: arrived.count,
                actual: accepted.count - report.contradicted
            ),
            .init(
                what: "good tokens, and those that got theirs",
                expected: Self.total - refused.count,
                actual: arrived.count
            ),
            .init(what: "tokens that got it twice", expected: 0, actual: self.recorder.duplicates.count),
            .init(
                what: "bad tokens that got something",
                expected: 0,
                actual: refusedOnes.filter { arrived[$0] != nil }.count
            ),
            .init(
                what: "refused by the gateway, and reported so, also late",
                expected: gateway.refused,
                actual: report.outcomes.rejected + report.contradicted
            ),
            .init(what: "bad tokens, and those refused", expected: refused.count, actual: gateway.refused),
            .init(
                what: "undelivered, expired or uncertain",
                expected: 0,
                actual: report.outcomes.undelivered + report.outcomes.expired + report.outcomes.uncertain
            ),
        ])
    }
}
