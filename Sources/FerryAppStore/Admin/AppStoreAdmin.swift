package import FerryAdmin
internal import FerryCore
internal import FerryHTTP1
internal import FerryPlatform
package import FerryServer
internal import NIOCore

/// The admin service of a receiver: it makes the status from the figures of receiver and store, and answers the routes.
///
/// All readers share one snapshot, which is made at most ten times a second. What waits in the store is counted at most
/// once in two seconds, because it takes the store's thread for some milliseconds.
package final class AppStoreAdmin: Sendable {
    /// Facts about the process that the receiver cannot know itself.
    package struct Surroundings: Sendable {
        package var ferry: String
        package var connections: @Sendable () -> (counts: ConnectionCounts, open: Int)
        package var certificates: @Sendable () -> [CertificateEnd]
        package var alarms: @Sendable () -> [AlarmLine]
        package var droppedLogs: @Sendable () -> Int
        /// The path of the store; nil without a store.
        package var storePath: String?

        package init(ferry: String, storePath: String? = nil) {
            self.ferry = ferry
            self.storePath = storePath
            self.connections = { (ConnectionCounts(), 0) }
            self.certificates = { [] }
            self.alarms = { [] }
            self.droppedLogs = { 0 }
        }
    }

    private struct Snapshot: Sendable {
        var posts: PostFigures
        var deliveries: [DeliveryWatch.Figures]
        var connections: ConnectionCounts
        var status: AppStoreStatus
        let answers = SharedAnswers()
    }

    private enum StoreView: Sendable {
        case none
        case figures(AppStoreStoreFigures)
        case fault(String)
        case silent
    }

    /// The time between two steps of the history while nobody asks.
    private static let tick: Duration = .seconds(5)
    /// How long a reader waits for the store's thread, and then for the snapshot.
    private static let storePatience: Duration = .seconds(1)
    private static let patience: Duration = .seconds(2)
    /// The failures in a row after which a destination counts as failing. One notification that its application refuses
    /// fails again and again between others that succeed.
    private static let failingAfter = 3

    private let around: Surroundings
    private let page = AppStorePage()
    private let snapshot: SharedValue<Snapshot>
    private let storeSize: StoreSize?

    /// - Parameter store: the state of the store; nil without a store.
    package init(_ watch: AppStoreWatch, _ store: AppStoreStore?, _ around: Surroundings) {
        self.around = around
        self.storeSize = around.storePath.map { StoreSize(of: $0) }
        let startedAt = Int(Date.now.timeIntervalSince1970)
        let history = LockedHistory()
        let stored = store.map { store in
            SharedValue<StoreView>(lifetime: .seconds(2)) { await AppStoreAdmin.view(of: store) }
        }
        self.snapshot = SharedValue {
            let view: StoreView =
                if let stored { await stored.value(within: AppStoreAdmin.storePatience) ?? .silent } else { .none }
            return AppStoreAdmin.snapshot(watch, view, around, history, startedAt)
        }
    }

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
        guard request.method == "GET" || request.method == "HEAD" else { return .notFound }
        // It says that the process answers, and nothing of its work: a restart would not help against anything else.
        if request.path == "/health/live" { return AdminAnswer(status: 200, "It runs.") }
        guard ["/", "/status", "/metrics", "/health/ready", "/health/delivering"].contains(request.path) else {
            return .notFound
        }
        guard let snapshot = await self.snapshot.value(within: Self.patience) else {
            return AdminAnswer(status: 503, "The figures of the receiver cannot be had.")
        }
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

    private func metrics(_ snapshot: Snapshot, _ storeBytes: Int?) -> AdminAnswer {
        let metrics = AppStoreMetrics(
            snapshot.posts,
            snapshot.deliveries,
            snapshot.status,
            connections: snapshot.connections,
            droppedLogs: self.around.droppedLogs(),
            storeBytes: storeBytes
        )
        return AdminAnswer(contentType: MetricsText.contentType, body: metrics.text.bytes)
    }

    // MARK: The status

    /// The rates of the last hour. Any thread.
    private final class LockedHistory: Sendable {
        private let history = Locked(RateHistory(now: LockedHistory.now))

        /// Notes the counts since the start, and returns the steps and the rate.
        func note(_ totals: RateHistory.Step) -> ([RateHistory.Step], Rate) {
            let now = Self.now
            return self.history.withLock { history in
                history.note(totals, now: now)
                return (history.steps, history.rate(now: now))
            }
        }

        /// Seconds of a clock that is not set.
        private static var now: Int { Int(NIODeadline.now().uptimeNanoseconds / 1_000_000_000) }
    }

    private static func view(of store: AppStoreStore) async -> StoreView {
        do throws(AppStoreStoreError) {
            return .figures(try await store.figures)
        } catch {
            return .fault(error.description)
        }
    }

    private static func snapshot(
        _ watch: AppStoreWatch,
        _ view: StoreView,
        _ around: Surroundings,
        _ history: LockedHistory,
        _ startedAt: Int
    ) -> Snapshot {
        let posts = watch.posts
        let safe = posts.taken + posts.copies
        let (steps, rate) = history.note(.init(read: posts.posts, accepted: safe, rejected: posts.posts - safe))
        let deliveries = watch.deliveries.map(\.figures)
        let stored =
            if case .figures(let figures) = view { figures.destinations } else { [AppStoreStoreFigures.Destination]() }
        let names = Self.shown(watch.deliveries.map(\.name))
        let destinations = zip(watch.deliveries, deliveries).enumerated().map { index, pair in
            Self.destination(names[index], pair.1, stored.first { $0.name == pair.0.name })
        }
        let connections = around.connections()
        let now = Date.now.timeIntervalSince1970
        let oldest = stored.filter(\.isActive).compactMap(\.oldest).min()
        var status = AppStoreStatus(
            ferry: around.ferry,
            now: Int(now),
            startedAt: startedAt,
            condition: Condition(.well, ""),
            troubles: [],
            ready: Health(isGood: true, ""),
            delivering: Health(isGood: true, ""),
            posts: .init(
                posts: posts.posts,
                verified: posts.verified,
                taken: posts.taken,
                copies: posts.copies,
                postponed: posts.postponed,
                refused: posts.allRefused
            ),
            rate: rate,
            history: steps,
            refusals: Dictionary(uniqueKeysWithValues: posts.refused.map { ($0.key.rawValue, $0.value) }),
            answers: Dictionary(uniqueKeysWithValues: posts.answers.map { ("\($0.key)", $0.value) }),
            destinations: destinations,
            store: .none,
            waiting: destinations.reduce(0) { $0 + $1.waiting },
            oldestAge: oldest.map { max(now - Double($0) / 1000, 0) },
            unsent: stored.filter { !$0.isActive }.reduce(0) { $0 + $1.waiting },
            kept: 0,
            connections: connections.open,
            certificates: around.certificates(),
            alarms: around.alarms()
        )
        switch view {
        case .none: break
        case .figures(let figures):
            status.kept = figures.kept
            status.storeTrouble = figures.trouble
            status.store = figures.trouble == nil ? .good : .troubled
        case .fault(let reason):
            status.storeTrouble = reason
            status.store = .troubled
        case .silent: status.store = .silent
        }
        status.judge()
        return Snapshot(posts: posts, deliveries: deliveries, connections: connections.counts, status: status)
    }

    private static func destination(
        _ name: String,
        _ figures: DeliveryWatch.Figures,
        _ stored: AppStoreStoreFigures.Destination?
    ) -> AppStoreStatus.Destination {
        let state: AppStoreStatus.Destination.State =
            if figures.failuresInARow >= self.failingAfter || figures.delivered == 0 && figures.failed > 0 {
                .failing
            } else {
                figures.delivered > 0 ? .good : .untried
            }
        return AppStoreStatus.Destination(
            name: name,
            state: state,
            waiting: stored?.waiting ?? 0,
            setAside: stored?.dead ?? 0,
            underWay: figures.underWay,
            delivered: figures.delivered,
            failed: figures.failed,
            p50: figures.recent.quantile(0.5),
            p99: figures.recent.quantile(0.99),
            lastFailure: figures.lastFailure
        )
    }

    /// The names of destinations without paths and queries, which may be secret. Two URLs of one host get a number.
    static func shown(_ names: [String]) -> [String] {
        var seen: [String: Int] = [:]
        return names.map { name in
            let place = (try? HTTPURL(name))?.description ?? "destination"
            let count = seen[place, default: 0] + 1
            seen[place] = count
            return count == 1 ? place : "\(place) (\(count))"
        }
    }
}
