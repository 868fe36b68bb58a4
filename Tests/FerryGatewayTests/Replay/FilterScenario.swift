import FerryBinary
import FerryCore
import NIOCore

@testable import FerryGateway

/// A replay filter that a test moves step by step. Notifications have a name, which is their key; each push is offered
/// as a new job.
final class FilterScenario {
    var filter: ReplayFilter
    private var effects: [Effect] = []
    private(set) var now: NIODeadline = .uptimeNanoseconds(1_000_000_000_000)
    private var nextJob: UInt64 = 0
    private var nextSequence: UInt64 = 0

    init(_ replayClass: ReplayClass = .unknown, isConfigured: Bool = false) {
        self.filter = ReplayFilter(replayClass, isConfigured: isConfigured)
    }

    func wait(_ time: TimeAmount) {
        self.now = self.now + time
        self.filter.timePassed(now: self.now, effects: &self.effects)
    }

    static func key(_ name: UInt64) -> ReplayKey { ReplayKey(high: 7, low: name) }

    private func follower(_ name: UInt64, isConstant: Bool, identifier: UInt32? = nil) -> Follower {
        self.nextJob += 1
        return Follower(
            key: Self.key(name),
            job: JobID(rawValue: self.nextJob),
            fate: .running,
            isConstant: isConstant,
            identifier: identifier
        )
    }

    /// Opens an episode for a connection that had these followers. Their names are their identifiers.
    func tell(
        _ connection: UInt64,
        _ names: some Sequence<UInt64>,
        kind: EpisodeKind = .rejection,
        named: UInt64? = nil,
        roundTrip: TimeAmount = .zero,
        isConstant: Bool = false,
        drains: Bool = false
    ) -> EpisodeID {
        self.nextSequence += 1
        let id = EpisodeID(connection: ConnectionID(connection), sequence: self.nextSequence)
        self.filter.open(
            id,
            kind,
            named: named.map(Self.key),
            roundTrip: roundTrip,
            followers: names.map { self.follower($0, isConstant: isConstant, identifier: UInt32($0)) },
            now: self.now,
            effects: &self.effects
        )
        if !drains {
            self.drained(id)
            self.close(connection)
        }
        return id
    }

    func drained(_ id: EpisodeID) { self.filter.drained(id, now: self.now, effects: &self.effects) }

    func close(_ connection: UInt64) {
        self.filter.closed(ConnectionID(connection), now: self.now, effects: &self.effects)
    }

    /// Removes and returns the jobs whose rejections no copy told before their episodes ended.
    func takeUntold() -> [JobID] {
        let jobs = self.effects.compactMap { if case .deferRejection(let job) = $0 { job } else { nil } }
        self.effects.removeAll { if case .deferRejection = $0 { true } else { false } }
        return jobs
    }

    /// Removes and returns the episodes that have ended.
    func takeEnded() -> [(episode: EpisodeID, isUnheard: Bool)] {
        let ended = self.effects.compactMap { effect -> (EpisodeID, Bool)? in
            if case .end(let episode, let isUnheard, _) = effect { (episode, isUnheard) } else { nil }
        }
        self.effects.removeAll { if case .end = $0 { true } else { false } }
        return ended
    }

    /// Lets a full window stop the reading of a connection, or not any more.
    func reads(_ connection: UInt64, _ isRead: Bool) {
        self.filter.reads(ConnectionID(connection), isRead, now: self.now)
    }

    @discardableResult
    func push(
        _ name: UInt64,
        on connection: UInt64,
        draining: EpisodeID? = nil,
        mayHaveHeard: Bool = true,
        isConstant: Bool = false,
        isOpening: Bool = false,
        openedAt: NIODeadline? = nil,
        identifier: UInt32? = nil,
        resemblesPushy: Bool = false
    ) -> ReplayFilter.Admission {
        self.filter.admit(
            self.follower(name, isConstant: isConstant, identifier: identifier),
            from: .init(
                connection: ConnectionID(connection),
                draining: draining,
                mayHaveHeard: mayHaveHeard,
                isOpening: isOpening,
                openedAt: openedAt ?? self.now,
                resemblesPushy: resemblesPushy
            ),
            now: self.now,
            effects: &self.effects
        )
    }

    /// Returns how many of the notifications were forwarded.
    func pushAll(_ names: some Sequence<UInt64>, on connection: UInt64, isConstant: Bool = false) -> Int {
        names.count { self.push($0, on: connection, isConstant: isConstant) == .forward }
    }

    /// Returns whether an open episode has the job.
    @discardableResult
    func settle(_ job: UInt64, _ fate: JobFate) -> Bool { self.filter.settled(JobID(rawValue: job), fate) }

    var isProven: Bool { if case .resends = self.filter.replayClass { true } else { false } }
}
