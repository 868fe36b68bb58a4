package import FerryAdmin
internal import FerryCore
internal import FerryHTTP1
internal import FerryPlatform
package import FerryServer

/// The admin service of a receiver. The service makes the status from the figures of the receiver and of the store.
///
/// The store counts its waiting deliveries at most once in two seconds, because a count occupies the store's thread
/// for some milliseconds.
package enum AppStoreAdmin {
    private enum StoreView: Sendable {
        case none
        case figures(AppStoreStoreFigures)
        case fault(String)
        case silent
    }

    /// The longest wait for the store's thread. It is shorter than the 2 s that a reader waits for the snapshot, so a
    /// silent store still gives a status.
    private static let storePatience: Duration = .seconds(1)
    /// The failures in a row after which a destination counts as failing. Before the first success, one failure is
    /// enough. If a single notification always fails, each success of another notification sets the count back to 0.
    private static let failingAfter = 3

    /// - Parameters:
    ///   - store: the store; nil without a store.
    ///   - connections: the connections of the receiver.
    package static func routes(
        _ watch: AppStoreWatch,
        _ store: AppStoreStore?,
        _ process: ProcessFacts,
        lifetime: Duration = StatusRoutes.lifetime,
        connections: @escaping @Sendable () -> (counts: ConnectionCounts, open: Int)
    ) -> StatusRoutes {
        let stored = store.map { store in
            SharedValue<StoreView>(lifetime: .seconds(2)) { await Self.view(of: store) }
        }
        return StatusRoutes(
            silence: "The figures of the receiver cannot be had.",
            storePath: process.storePath,
            lifetime: lifetime
        ) { history in
            let view: StoreView =
                if let stored { await stored.value(within: Self.storePatience) ?? .silent } else { .none }
            return Self.snapshot(watch, view, process, connections(), history)
        }
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
        _ process: ProcessFacts,
        _ connections: (counts: ConnectionCounts, open: Int),
        _ history: ServerHistory
    ) -> StatusRoutes.Snapshot {
        let posts = watch.posts
        let taken = posts.taken + posts.copies
        let (steps, rate) = history.note(.init(read: posts.posts, accepted: taken, rejected: posts.posts - taken))
        let deliveries = watch.deliveries.map(\.figures)
        let stored =
            if case .figures(let figures) = view { figures.destinations } else { [AppStoreStoreFigures.Destination]() }
        let names = Self.shown(watch.deliveries.map(\.name))
        let destinations = zip(watch.deliveries, deliveries).enumerated().map { index, pair in
            Self.destination(names[index], pair.1, stored.first { $0.name == pair.0.name })
        }
        let now = Date.now.timeIntervalSince1970
        let oldest = stored.filter(\.isActive).compactMap(\.oldest).min()
        var status = AppStoreStatus(
            ferry: process.ferry,
            now: Int(now),
            startedAt: history.startedAt,
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
            certificates: process.certificates,
            alarms: process.alarms.all
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
        return StatusRoutes.Snapshot(status) {
            AppStorePage.answer($0)
        } metrics: { status, storeBytes in
            AppStoreMetrics(
                posts: posts,
                deliveries: deliveries,
                status: status,
                connections: connections.counts,
                droppedLogs: process.droppedLogs(),
                storeBytes: storeBytes
            ).text
        }
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

    /// Returns the names of destinations for the status: scheme, host and port. Path and query may be secret. A name
    /// that is no URL becomes `destination`. If several results are equal, the second and later ones get a number.
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
