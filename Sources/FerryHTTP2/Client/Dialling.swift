internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// Decides when a client makes its next connection.
///
/// ```
///             a wait was asked for                time passes
///   ready ────────────────────────▶ waiting ──────────────────────▶ ready
///     │                                ▲
///     │ begin                          │ it is made or has failed, and a wait was asked for meanwhile
///     ▼                                │
///   dialling ──────────────────────────┴── it is made or has failed ──▶ ready
/// ```
struct Dialling {
    private enum State {
        /// The next connection may be made at once.
        case ready
        /// No connection is made before that time.
        case waiting(until: NIODeadline)
        /// A connection is being made since that time. The one after it is not made before `next`.
        case dialling(ConnectionID, since: NIODeadline, next: NIODeadline?)
    }

    /// Connections in a row that failed or brought no answer.
    private enum Failures {
        case none
        /// So many; the first of them failed, or was begun with, at that time.
        case inARow(Int, since: NIODeadline)
    }

    private var state = State.ready
    private var failures = Failures.none
    /// The identifier of the last connection that was begun with; 0 for none.
    private(set) var lastID: UInt64 = 0
    private let limit: RetryLimit
    private var limiter = DialLimiter()
    /// The waits after connections without an answer.
    private var backOff: BackOff
    /// The waits after ENHANCE_YOUR_CALM. A peer may answer before it says that, so an answer ends them only on a
    /// connection that has lasted as long as the longest of them.
    private var calmBackOff: BackOff

    init(_ options: HTTP2Options) {
        self.limit = RetryLimit(count: options.connectionRetryLimit, time: options.connectionRetryTime)
        self.backOff = BackOff(options.backOff)
        self.calmBackOff = BackOff(options.backOff)
    }

    // MARK: Dials

    /// The connection that is being made; nil when there is none.
    var current: ConnectionID? {
        if case .dialling(let id, _, _) = self.state { id } else { nil }
    }

    /// When the next connection may be made; nil when it may be at once, or while one is being made.
    var deadline: NIODeadline? {
        if case .waiting(let until) = self.state { until } else { nil }
    }

    /// Begins with a connection, if one may be made now; returns its identifier.
    mutating func begin(now: NIODeadline) -> ConnectionID? {
        switch self.state {
        case .dialling: return nil
        case .waiting(let until) where until > now: return nil
        case .waiting, .ready: break
        }
        if let later = self.limiter.take(now: now) {
            self.state = .waiting(until: later)
            return nil
        }
        self.lastID += 1
        let id = ConnectionID(self.lastID)
        self.state = .dialling(id, since: now, next: nil)
        return id
    }

    /// Notes that a connection is made or has failed; returns when it was begun with, or nil when it is not the one that is
    /// being made.
    mutating func end(_ id: ConnectionID) -> NIODeadline? {
        guard case .dialling(id, let since, let next) = self.state else { return nil }
        self.state = next.map { .waiting(until: $0) } ?? .ready
        return since
    }

    /// Gives up the connection that is being made; returns it.
    mutating func cancel() -> ConnectionID? {
        guard let current = self.current else { return nil }
        _ = self.end(current)
        return current
    }

    /// Time has passed.
    mutating func tick(now: NIODeadline) {
        switch self.state {
        case .waiting(let until) where until <= now: self.state = .ready
        case .dialling(let id, let since, .some(let next)) where next <= now:
            self.state = .dialling(id, since: since, next: nil)
        case .ready, .waiting, .dialling: break
        }
    }

    // MARK: Waits

    /// Makes no connection for so long. A longer wait that was asked for before holds.
    private mutating func wait(_ wait: TimeAmount, now: NIODeadline) {
        let until = now + wait
        switch self.state {
        case .ready: self.state = .waiting(until: until)
        case .waiting(let earlier): self.state = .waiting(until: max(earlier, until))
        case .dialling(let id, let since, let next):
            self.state = .dialling(id, since: since, next: max(next ?? until, until))
        }
    }

    /// Notes that the peer said ENHANCE_YOUR_CALM.
    mutating func calm(now: NIODeadline, using generator: inout SplitMix64) {
        self.wait(self.calmBackOff.fail(using: &generator), now: now)
    }

    /// Notes that the peer refused the credentials.
    mutating func credentialsRejected(now: NIODeadline, using generator: inout SplitMix64) {
        self.wait(self.backOff.fail(using: &generator), now: now)
    }

    /// Notes an answer on a connection that was made at `start`.
    mutating func answered(since start: NIODeadline, now: NIODeadline) {
        self.failures = .none
        self.backOff.reset()
        if start + self.calmBackOff.cap <= now { self.calmBackOff.reset() }
    }

    enum FailureAction: Equatable {
        case dialAgain
        /// Give up what is queued: so many in a row failed since that time.
        case giveUp(failures: Int, since: NIODeadline)
    }

    /// Notes a connection that failed or brought no answer.
    ///
    /// - Parameter start: when the failures began, if it is the first in a row.
    mutating func failed(
        since start: NIODeadline,
        now: NIODeadline,
        using generator: inout SplitMix64
    ) -> FailureAction {
        let (count, first) =
            switch self.failures {
            case .none: (1, start)
            case .inARow(let count, let since): (count + 1, since)
            }
        let wait = self.backOff.fail(using: &generator)
        guard self.limit.isReached(count, since: first, now: now) else {
            self.failures = .inARow(count, since: first)
            self.wait(self.limit.bounded(wait, since: first, now: now), now: now)
            return .dialAgain
        }
        self.failures = .none
        self.wait(wait, now: now)
        return .giveUp(failures: count, since: first)
    }
}
