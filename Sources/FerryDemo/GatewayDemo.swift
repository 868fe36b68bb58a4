internal import Ferry
internal import FerryCore
internal import FerryForwarding
internal import FerryGateway
internal import FerryTesting

/// The gateway's part of the demo: a client that speaks only the binary protocol delivers over HTTP/2, gets error
/// responses, repeats the notifications after a rejected one, and reads the feedback list.
struct GatewayDemo {
    static let count = 2000
    /// The numbers of notifications with bad device tokens, and of those whose devices lost the app. The first
    /// notification is good: the gateway sends no error response before something was accepted.
    static let bad = [500, 501, 1234]
    static let gone = [7, 432, 1111]
    /// The settle time of the client, longer than the gateway takes for an error response.
    private static let settleTime: Duration = .seconds(1)

    let narrator: DemoNarrator
    private let sink = DemoSink()
    private let recorder = APNsMemoryRecorder()
    private let rejections = Rejections()

    func run() async throws -> DemoReport {
        let credentials = try TestCredentials()
        var configuration = SimulatedAPNs.Configuration(credentials: credentials)
        configuration.recorder = self.recorder
        configuration.script.rules = [
            .reject(try DemoBatch.devices(Self.bad)),
            HTTP2Rule(tokens: try DemoBatch.devices(Self.gone), status: 410, timestamp: HTTP2Demo.lostAt),
        ]
        return try await SimulatedAPNs.start(configuration).serving { try await self.run($0, credentials) }
    }

    private func run(_ apns: SimulatedAPNs, _ credentials: TestCredentials) async throws -> DemoReport {
        let gateway = try await LocalGateway.start(before: apns, credentials) { [rejections = self.rejections] in
            $0.feedbackPort = 0
            $0.onEvent = { event, _ in rejections.note(event) }
        }
        self.narrator.say(
            "a gateway takes the binary protocol on \(gateway.host), port \(gateway.port), and forwards to a simulated APNs "
                + "for HTTP/2 on port \(apns.port)"
        )
        return try await gateway.serving(stopWithin: DemoBatch.limit, afterErrorWithin: .zero) {
            try await self.run($0, credentials)
        }
    }

    private func run(_ gateway: LocalGateway, _ credentials: TestCredentials) async throws -> DemoReport {
        var configuration = gateway.client(outcomes: .sink(self.sink))
        configuration.options.settleTime = Self.settleTime
        let provider = try BinaryProvider(configuration)
        let telling = Task { [narrator = self.narrator, events = provider.events(bufferingNewest: 65_536)] in
            var narrator = narrator
            narrator.isBeforeGateway = true
            for await event in events { narrator.tell(event) }
        }
        self.narrator.say(
            "\(Self.count) notifications by the binary protocol, \(Self.bad.count) to bad device tokens, "
                + "\(Self.gone.count) to devices that lost the app"
        )
        try await DemoBatch.submit(0..<1, to: provider)
        _ = await provider.drain(within: DemoBatch.limit)
        try await DemoBatch.submit(1..<Self.count, to: provider)
        _ = await provider.drain(within: DemoBatch.limit)
        let report = await provider.shutDown(within: DemoBatch.limit, proof: .silence)
        await telling.value
        try await self.waitForAnswers(gateway)
        let counts = try await gateway.counts
        self.narrator.say(
            "the gateway knew \(counts.swallowed) copies for what they are, and delivered none of them again"
        )
        var rows = try self.compare(report, counts)
        let list = FeedbackDemo(
            gone: try DemoBatch.devices(Self.gone),
            title: "gateway: ",
            narrator: self.narrator
        )
        if let port = gateway.feedbackPort {
            rows += try await list.run(host: gateway.host, port: port, credentials)
        }
        return DemoReport(rows: rows)
    }

    /// The gateway may still wait for answers when silence has settled everything for the client.
    private func waitForAnswers(_ gateway: LocalGateway) async throws {
        let deadline = ContinuousClock.now + DemoBatch.limit
        while try await gateway.counts.unanswered > 0, .now < deadline { try await Task.sleep(for: .milliseconds(10)) }
    }

    /// Compares what APNs recorded with what the client and the gateway reported.
    private func compare(_ report: DrainReport, _ gateway: FateCounts) throws -> [DemoReport.Row] {
        let (bad, gone) = (try DemoBatch.devices(Self.bad), try DemoBatch.devices(Self.gone))
        let arrived = self.recorder.counts
        let told = report.outcomes.rejected + report.contradicted
        return [
            .init(
                what: "gateway: notifications that have an outcome",
                expected: Self.count,
                actual: self.sink.all.count
            ),
            .init(
                what: "gateway: good tokens, and those that got theirs",
                expected: Self.count - bad.count - gone.count,
                actual: arrived.count
            ),
            .init(
                what: "gateway: tokens that got it twice",
                expected: 0,
                actual: arrived.values.count { $0 > 1 }
            ),
            .init(
                what: "gateway: bad tokens that got something",
                expected: 0,
                actual: bad.union(gone).count { arrived[$0] != nil }
            ),
            .init(
                what: "gateway: bad tokens, and those in its list of rejections",
                expected: bad.count,
                actual: self.rejections.tokens.count { bad.contains($0) }
            ),
            .init(
                what: "gateway: in the list of rejections, for any reason",
                expected: bad.count,
                actual: self.rejections.tokens.count
            ),
            // On a slow machine, the gateway leaves some bad tokens to the next push.
            .init(
                what: "gateway: bad tokens, told by error responses or left to the next push",
                expected: bad.count,
                actual: gateway.told + gateway.deferred
            ),
            .init(
                what: "gateway: error responses that the client does not report",
                expected: 0,
                actual: gateway.told - told
            ),
            .init(
                what: "gateway: read, and neither forwarded nor known as copies",
                expected: 0,
                actual: gateway.read - gateway.forwarded - gateway.swallowed
            ),
        ]
    }

    /// The gateway's list of rejections and dead letters.
    private final class Rejections: Sendable {
        private let list = Locked<[DeviceToken]>([])

        func note(_ event: GatewayEvent) {
            switch event {
            case .refused(let refusal), .deadLetter(let refusal):
                guard let token = refusal.token.flatMap({ try? DeviceToken($0) }) else { return }
                self.list.withLock { $0.append(token) }
            default:
                break
            }
        }

        var tokens: [DeviceToken] { self.list.withLock { $0 } }
    }
}
