package import FerryAdmin
internal import FerryCore
internal import FerryPlatform
internal import NIOCore

/// The admin service of a gateway: it makes the status from the gateway's figures and from what the process knows, and
/// answers the routes.
///
/// All readers share one snapshot, which is made at most ten times a second in one turn of the gateway's event loop.
package final class GatewayAdmin: Sendable {
    /// Facts about the process that the gateway cannot know itself.
    package struct Surroundings: Sendable {
        package var ferry: String
        /// The upstreams' names and addresses, by their numbers.
        package var upstreams: [(name: String, address: String)]
        package var watches: [UpstreamWatch]
        /// The numbers of the upstreams that the configuration no longer names.
        package var removed: Set<Int> = []
        /// The last failure of an upstream with its cure, by its number.
        package var lastError: @Sendable (_ upstream: Int) -> AlarmLine?
        package var certificates: @Sendable () -> [CertificateEnd]
        package var alarms: @Sendable () -> [AlarmLine]
        package var changedFiles: @Sendable () -> [String]
        package var refusedReload: @Sendable () -> AlarmLine?
        package var droppedLogs: @Sendable () -> Int
        /// The path of the store; nil without a store.
        package var storePath: String?
        /// Reads the configuration again, and returns the result as JSON; nil if this gateway cannot.
        package var reload: (@Sendable () async -> ReloadAnswer)?

        package init(
            ferry: String,
            upstreams: [(name: String, address: String)],
            watches: [UpstreamWatch],
            storePath: String? = nil
        ) {
            self.ferry = ferry
            self.upstreams = upstreams
            self.watches = watches
            self.storePath = storePath
            self.lastError = { _ in nil }
            self.certificates = { [] }
            self.alarms = { [] }
            self.changedFiles = { [] }
            self.refusedReload = { nil }
            self.droppedLogs = { 0 }
        }
    }

    /// The rates of the last hour. The snapshots have them in common.
    private final class Rates: Sendable {
        let history = Locked(RateHistory(now: GatewayAdmin.uptime))
    }

    /// The surroundings of now. A reload changes them.
    private final class Present: Sendable {
        let around: Locked<Surroundings>

        init(_ around: Surroundings) { self.around = Locked(around) }

        var value: Surroundings { self.around.withLock { $0 } }
    }

    private struct Snapshot: Sendable {
        var figures: GatewayFigures
        var loop: LoopFigures
        var upstreams: [GatewayMetrics.Upstream]
        var status: GatewayStatus
        let answers = SharedAnswers()
    }

    /// How long a reader waits for the gateway's event loop.
    private static let patience: Duration = .seconds(2)
    /// The time between two steps of the history while nobody asks.
    private static let tick: Duration = .seconds(5)

    let gateway: Gateway
    private let present: Present
    private let page = GatewayPage()
    private let snapshot: SharedValue<Snapshot?>
    private let storeSize: StoreSize?

    package init(_ gateway: Gateway, _ around: Surroundings) {
        self.gateway = gateway
        let present = Present(around)
        self.present = present
        self.storeSize = around.storePath.map { StoreSize(of: $0) }
        let (startedAt, rates) = (Int(Date().timeIntervalSince1970), Rates())
        self.snapshot = SharedValue {
            guard let figures = try? await gateway.figures else { return nil }
            return GatewayAdmin.snapshot(figures.gateway, figures.loop, present.value, rates, startedAt)
        }
    }

    /// Takes the surroundings after a reload. Each upstream keeps its number.
    package func surround(_ around: Surroundings) { self.present.around.withLock { $0 = around } }

    /// Notes the rates until the task is cancelled. Without it, the picture of the last hour would have gaps while nobody
    /// asks.
    package func run() async {
        while !Task.isCancelled {
            _ = await self.snapshot.value(within: Self.patience)
            try? await Task.sleep(for: Self.tick)
        }
    }

    /// Answers a request that was let in.
    package func answer(_ request: AdminRequest) async -> AdminAnswer {
        // Only the socket lets such a request in.
        if request.method == "POST", request.path == "/reload", request.isLocal {
            guard let reload = self.present.value.reload else { return .notFound }
            return await reload().adminAnswer
        }
        if Self.letterPaths.contains(request.path) { return await self.answerLetters(request) }
        guard request.method == "GET" || request.method == "HEAD" else { return .notFound }
        // It says that the process answers, and nothing of its work: a restart would not help against anything else.
        if request.path == "/health/live" { return AdminAnswer(status: 200, "It runs.") }
        guard ["/", "/status", "/metrics", "/health/ready", "/health/delivering"].contains(request.path) else {
            return .notFound
        }
        guard let found = await self.snapshot.value(within: Self.patience) else {
            return AdminAnswer(status: 503, "The event loop of the gateway does not answer.")
        }
        guard let snapshot = found else { return AdminAnswer(status: 503, "It ends.") }
        let storeBytes: Int? = if request.path == "/metrics" { await self.storeSize?.bytes } else { nil }
        return snapshot.answers.answer(request.path) {
            switch request.path {
            case "/": self.page.answer(snapshot.status)
            case "/status": AdminAnswer(encoding: snapshot.status)
            case "/metrics": self.metrics(snapshot, storeBytes)
            case "/health/ready": AdminAnswer(snapshot.status.ready)
            default: AdminAnswer(snapshot.status.delivering)
            }
        }
    }

    // MARK: Answers

    private func metrics(_ snapshot: Snapshot, _ storeBytes: Int?) -> AdminAnswer {
        let metrics = GatewayMetrics(
            snapshot.figures,
            snapshot.loop,
            snapshot.status,
            upstreams: snapshot.upstreams,
            droppedLogs: self.present.value.droppedLogs(),
            storeBytes: storeBytes
        )
        return AdminAnswer(contentType: MetricsText.contentType, body: metrics.text.bytes)
    }

    // MARK: The status

    /// Seconds of a clock that is not set.
    private static var uptime: Int { Int(NIODeadline.now().uptimeNanoseconds / 1_000_000_000) }

    private static func snapshot(
        _ figures: GatewayFigures,
        _ loop: LoopFigures,
        _ around: Surroundings,
        _ rates: Rates,
        _ startedAt: Int
    ) -> Snapshot {
        let counts = figures.counts
        let totals = RateHistory.Step(
            read: counts.read,
            accepted: counts.accepted,
            rejected: counts.refused + counts.refusedHere + counts.knownBad
        )
        let now = Self.uptime
        let (steps, rate) = rates.history.withLock { history in
            history.note(totals, now: now)
            return (history.steps, history.rate(now: now))
        }
        // A reload may have added an upstream that the surroundings do not have yet.
        let numbers = figures.upstreams.indices.filter { around.upstreams.indices.contains($0) }
        let watched = around.watches.map(\.figures)
        let upstreams = numbers.map { Self.upstream($0, figures.upstreams[$0], watched[$0], around) }
        // A removed upstream is shown until its last notification has gone.
        let shown = numbers.filter { !around.removed.contains($0) || figures.upstreams[$0].held > 0 }
        var refusals: [String: Int] = [:]
        for upstream in figures.upstreams {
            for (reason, count) in upstream.answers.refusals { refusals[reason.rawValue, default: 0] += count }
        }
        var status = GatewayStatus(
            ferry: around.ferry,
            now: Int(Date().timeIntervalSince1970),
            startedAt: startedAt,
            condition: Condition(.well, ""),
            troubles: [],
            ready: .init(isGood: true, ""),
            delivering: .init(isGood: true, ""),
            counts: counts,
            unanswered: counts.unanswered,
            oldestAge: figures.oldestAge,
            rate: rate,
            history: steps,
            refusals: refusals,
            clients: figures.clients.filter(\.isShown).map { Self.client($0, around) },
            upstreams: shown.map { upstreams[$0] },
            store: Self.store(figures.store),
            certificates: around.certificates(),
            alarms: around.alarms(),
            changedFiles: around.changedFiles(),
            refusedReload: around.refusedReload()
        )
        status.judge()
        let measured = numbers.map { number in
            let usable = upstreams[number].isUsable && upstreams[number].shutTopics.isEmpty
            return GatewayMetrics.Upstream(
                name: around.upstreams[number].name,
                isUsable: around.removed.contains(number) ? nil : usable,
                watched: watched[number]
            )
        }
        return Snapshot(figures: figures, loop: loop, upstreams: measured, status: status)
    }

    private static func store(_ store: GatewayFigures.Store?) -> GatewayStatus.Store {
        switch store {
        case nil: .none
        case .good: .good
        case .troubled: .troubled
        case .taken: .taken
        }
    }

    private static func client(_ client: GatewayFigures.Client, _ around: Surroundings) -> GatewayStatus.Client {
        GatewayStatus.Client(
            name: client.name,
            upstream: around.upstreams.indices.contains(client.upstream) ? around.upstreams[client.upstream].name : "",
            connections: client.connections,
            heardAt: client.heardAt.map(Int.init),
            counts: client.counts,
            feedbackRows: client.feedbackRows,
            told: self.told(client)
        )
    }

    private static func told(_ client: GatewayFigures.Client) -> String {
        switch (client.resends, client.mode) {
        case (false, _): "nothing: it never sends again"
        case (_, .spool): "at the next push to the token"
        case (_, .verdict): "each rejection, where that is safe"
        }
    }

    private static func upstream(
        _ index: Int,
        _ figures: GatewayFigures.Upstream,
        _ watched: UpstreamWatch.Figures,
        _ around: Surroundings
    ) -> GatewayStatus.Upstream {
        let state: GatewayStatus.Upstream.State =
            switch watched.state {
            case .failing: .failing
            case _ where figures.hasOutage: .outage
            case .untried: .untried
            case .good: .good
            }
        return GatewayStatus.Upstream(
            name: around.upstreams[index].name,
            address: around.upstreams[index].address,
            state: state,
            connections: watched.activity.standing.connections,
            requests: watched.activity.standing.unsettled,
            accepted: figures.answers.accepted,
            refused: figures.answers.refusals.values.reduce(0, +),
            p50: figures.recent.quantile(0.5),
            p99: figures.recent.quantile(0.99),
            held: figures.held,
            shutTopics: figures.shutTopics,
            lastError: around.lastError(index)
        )
    }
}

extension GatewayFigures.Client {
    /// Whether the client is shown to people: a client that a reload removed only until its last notification has gone.
    fileprivate var isShown: Bool { self.isConfigured || self.connections > 0 || self.counts.unanswered > 0 }
}
