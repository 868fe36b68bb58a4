package import FerryAdmin
internal import FerryCore
internal import FerryPlatform

/// The admin service of a gateway. It makes the status from the figures of the gateway and the facts of the process,
/// and answers the routes that only a gateway has.
///
/// A snapshot costs one turn of each gateway's event loop.
package final class GatewayAdmin: Sendable {
    /// Facts that the gateway cannot know itself.
    package struct Surroundings: Sendable {
        package var process: ProcessFacts
        /// The upstreams' names and addresses, by their numbers.
        package var upstreams: [(name: String, address: String)]
        package var watches: [UpstreamWatch]
        /// The numbers of the upstreams that the configuration no longer names.
        package var removed: Set<Int> = []
        package var changedFiles: @Sendable () -> [String]
        package var refusedReload: @Sendable () -> AlarmLine?
        /// Reads the configuration again, and returns the result of the reload; nil if the gateway cannot be reloaded.
        package var reload: (@Sendable () async -> ReloadAnswer)?
        /// Called when an operator has made a copy of the store.
        package var copied: @Sendable (StoreCopy) -> Void

        package init(
            _ process: ProcessFacts,
            upstreams: [(name: String, address: String)],
            watches: [UpstreamWatch]
        ) {
            self.process = process
            self.upstreams = upstreams
            self.watches = watches
            self.changedFiles = { [] }
            self.refusedReload = { nil }
            self.copied = { _ in }
        }
    }

    /// The present surroundings. A reload changes them.
    private final class Present: Sendable {
        let around: Locked<Surroundings>

        init(_ around: Surroundings) { self.around = Locked(around) }

        var value: Surroundings { self.around.withLock { $0 } }
    }

    /// The sentence that a reader gets while the event loop hangs.
    private static let silenceSentence = "The event loop of the gateway does not answer."
    static let silence = AdminAnswer(status: 503, GatewayAdmin.silenceSentence)

    let gateway: any AdministeredGateways
    private let present: Present
    /// How long a reader waits for the store and the event loop.
    private let patience: Duration
    /// How long one request looks at pages. The next request continues. Without this bound, a slow store or a busy
    /// event loop could take longer than ``patience``, and the reader would get no page.
    let pageTime: Duration
    private let backupLimit: Duration
    let letterRequests = BoundedRequests()
    /// The requests for waiting notifications. These requests are counted apart from requests for letters, because
    /// the store may hang while the event loop works.
    let waitingRequests = BoundedRequests()
    /// The routes that every server has.
    package let routes: StatusRoutes

    /// Makes the service. Tests pass shorter times.
    ///
    /// - Parameters:
    ///   - patience: how long a reader waits for the store and the event loop.
    ///   - pageTime: how long one request looks at pages.
    ///   - backupLimit: how long the answer to a copy may take.
    package init(
        _ gateway: any AdministeredGateways,
        _ around: Surroundings,
        patience: Duration = StatusRoutes.patience,
        pageTime: Duration = .seconds(1),
        backupLimit: Duration = GatewayAdmin.backupLimit
    ) {
        self.gateway = gateway
        self.patience = patience
        self.pageTime = pageTime
        self.backupLimit = backupLimit
        let present = Present(around)
        self.present = present
        self.routes = StatusRoutes(
            silence: GatewayAdmin.silenceSentence,
            storePath: around.process.storePath,
            patience: patience
        ) { history in
            guard let shown = await gateway.shown else { return nil }
            return GatewayAdmin.snapshot(shown, present.value, history)
        }
    }

    /// Takes the surroundings after a reload. Each upstream keeps its number.
    package func surround(_ around: Surroundings) { self.present.around.withLock { $0 = around } }

    /// Answers a request that ``AdminAccess`` has admitted.
    package func answer(_ request: AdminRequest) async -> AdminAnswer {
        // A local request comes over the Unix socket.
        if request.method == "POST", request.path == "/reload", request.isLocal {
            guard let reload = self.present.value.reload else { return .notFound }
            return await reload().adminAnswer
        }
        if request.path == Self.backupPath {
            return await self.answerBackup(request, within: self.backupLimit, self.present.value.copied)
        }
        if Self.letterPaths.contains(request.path) { return await self.answerLetters(request, within: self.patience) }
        if Self.waitingPaths.contains(request.path) { return await self.answerWaiting(request, within: self.patience) }
        return await self.routes.answer(request)
    }

    // MARK: The status

    private static func snapshot(
        _ gateways: ShownGateways,
        _ around: Surroundings,
        _ history: ServerHistory
    ) -> StatusRoutes.Snapshot {
        let (figures, loop) = (gateways.snapshot.figures, gateways.snapshot.loop)
        let counts = figures.counts
        let rejected = counts.refused + counts.refusedHere + counts.knownBad
        let (steps, rate) = history.note(.init(read: counts.read, accepted: counts.accepted, rejected: rejected))
        // A reload may have added an upstream that the surroundings do not have yet.
        let numbers = figures.upstreams.indices.filter { around.upstreams.indices.contains($0) }
        var watched = around.watches.map(\.figures)
        for (number, figures) in zip(watched.indices, gateways.snapshot.watched) { watched[number].join(figures) }
        let upstreams = numbers.map { Self.upstream($0, figures.upstreams[$0], watched[$0], around) }
        // A removed upstream is shown while notifications wait at its shut gates.
        let shown = numbers.filter { !around.removed.contains($0) || figures.upstreams[$0].held > 0 }
        var refusals: [String: Int] = [:]
        for upstream in figures.upstreams {
            for (reason, count) in upstream.answers.refusals { refusals[reason.rawValue, default: 0] += count }
        }
        var status = GatewayStatus(
            ferry: around.process.ferry,
            now: Int(Date.now.timeIntervalSince1970),
            startedAt: history.startedAt,
            counts: counts,
            unanswered: counts.unanswered,
            oldestAge: figures.oldestAge,
            rate: rate,
            history: steps,
            refusals: refusals,
            clients: figures.clients.filter(\.isShown).map { Self.client($0, around) },
            upstreams: shown.map { upstreams[$0] },
            store: Self.store(figures.store),
            certificates: around.process.certificates,
            alarms: around.process.alarms.all,
            changedFiles: around.changedFiles(),
            refusedReload: around.refusedReload(),
            listTrouble: figures.listTrouble,
            shards: gateways.shards
        )
        status.judge()
        let measured = numbers.map { [watched] number in
            let usable = upstreams[number].isUsable && upstreams[number].shutTopics.isEmpty
            return GatewayMetrics.Upstream(
                name: around.upstreams[number].name,
                isUsable: status.isUsed(upstreams[number]) ? usable : nil,
                watched: watched[number]
            )
        }
        return StatusRoutes.Snapshot(status) {
            GatewayPage.answer($0)
        } metrics: { status, storeBytes in
            var text = GatewayMetrics(
                figures: figures,
                loop: loop,
                status: status,
                upstreams: measured,
                droppedLogs: around.process.droppedLogs(),
                storeBytes: storeBytes
            ).text
            gateways.addMetrics(&text)
            return text
        }
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
        case (false, _): "nothing: it never repeats notifications"
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
            case .failing, .trialFailed: .failing
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
            shutTopics: figures.shutTopics.map { shut in
                GatewayStatus.Upstream.ShutTopic(
                    topic: shut.topic,
                    cause: ReasonWords.shut(shut.topic, at: around.upstreams[index].name, for: shut.reason),
                    held: shut.held
                )
            },
            pings: GatewayStatus.Upstream.Pings(
                sent: watched.activity.pings.sent,
                answered: watched.activity.pings.answered,
                unanswered: watched.activity.pings.unanswered,
                last: watched.lastPing
            ),
            lastError: watched.lastError
        )
    }
}

extension GatewayFigures.Client {
    /// Whether the status shows the client. A removed client is shown while it has connections, or notifications
    /// without a final answer.
    fileprivate var isShown: Bool { self.isConfigured || self.connections > 0 || self.counts.unanswered > 0 }
}
